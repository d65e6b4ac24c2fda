"""The exceptions a user's program can catch, under the names and with the texts Triton gives them.

Every one derives from `TritonError`, can be pickled (tuners and test runners send them between
processes) and says in its text what was asked for and what was allowed. Findings of the checkers
are not exceptions: they are in `blockstep.findings`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockstep.findings import Span

EXCERPT_LINES = 12


class TritonError(Exception):
    """Base of everything raised on purpose."""


class UnsupportedError(TritonError, NotImplementedError):
    """A use that blockstep does not support. It is not a bug in the kernel. `span` is the user's
    line, where that is known."""

    def __init__(self, *args: object, span: Span | None = None) -> None:
        super().__init__(*args)
        self.span = span


class InterpreterError(TritonError):
    """A kernel failed while it was being interpreted."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return self.error_message or ""


class PTXASError(TritonError):
    """PTX could not be assembled."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return f"PTXAS error: {self.error_message or ''}"


class AutotunerError(TritonError):
    """No configuration is left to choose from."""

    def __init__(self, error_message: str | None = None) -> None:
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self) -> str:
        return f"Autotuner error: {self.error_message or ''}"


class OutOfResources(TritonError):
    """A launch asks for more of `name` (threads, shared memory, ...) than the device has."""

    def __init__(self, required: int, limit: int, name: str) -> None:
        super().__init__(required, limit, name)
        self.required = required
        self.limit = limit
        self.name = name

    def __str__(self) -> str:
        return (
            f"out of resource: {self.name}, Required: {self.required}, "
            f"Hardware limit: {self.limit}. Reducing block sizes or `num_stages` may help."
        )


class CompilationError(TritonError):
    """The language does not allow this source: `node` is the place, `error_message` the reason.

    `node` counts lines from the function's own first line, as Triton's messages do; `span` is the
    place in the user's file."""

    def __init__(
        self,
        src: str | None,
        node: ast.AST | None,
        error_message: str | None = None,
        span: Span | None = None,
    ) -> None:
        TritonError.__init__(self, src, node, error_message)
        self.src = src
        self.node = node
        self.error_message = error_message
        self.span = span
        self.message = self._format()

    def _format(self) -> str:
        parts = [self._place()]
        if self.span is not None:
            parts.append(f"  --> {self.span.file}:{self.span.line}:{self.span.column}")
        if self.error_message:
            parts.append(self.error_message)
        return "\n".join(parts)

    def _place(self) -> str:
        line = getattr(self.node, "lineno", None)
        if line is None:
            return self.src if self.src is not None else " <source unavailable>"
        column = getattr(self.node, "col_offset", 0)
        return f"at {line}:{column}:\n{self._excerpt(line, column)}"

    def _excerpt(self, line: int, column: int) -> str:
        if self.src is None:
            return " <source unavailable>"
        shown = self.src.split("\n")[:line][-EXCERPT_LINES:]
        return "\n".join([*shown, " " * column + "^"]) if shown else " <source empty>"

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type[CompilationError], tuple[object, ...]]:
        return type(self), (self.src, self.node, self.error_message, self.span)


class CompileTimeAssertionFailure(CompilationError):
    """`tl.static_assert` was false."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python that the kernel language does not have."""


class LanguageError(CompilationError, InterpreterError):
    """A language error that came out while the kernel ran: compiling and interpreting code may both
    expect it."""


class DeviceAssertionError(AssertionError, RuntimeError):
    """A `device_assert` (or an `assert` in a kernel) did not hold in an unjudged run."""


class OutOfBoundsError(TritonError, IndexError):
    """An unjudged run touched memory that belongs to no argument: on a device, an illegal address."""


class ReadOnlyError(TritonError, ValueError):
    """A kernel wrote to an argument that was passed as a read-only array."""

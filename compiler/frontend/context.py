"""What is being compiled: the source, the variables, where the recorder stands; and errors at nodes."""

from __future__ import annotations

import ast
from typing import Any

from blockstep.compiler.frontend.recorder import Recorder
from blockstep.compiler.frontend.scope import Variables
from blockstep.errors import CompilationError
from blockstep.findings import Span
from blockstep.ir import Location
from blockstep.language.names import Names
from blockstep.language.rules import find
from blockstep.language.source import Source


class Context:
    """The state of one function's compilation."""

    def __init__(
        self, source: Source, names: Names, variables: Variables, recorder: Recorder,
        callers: tuple[Span, ...] = (),
    ) -> None:  # fmt: skip
        self.source = source
        self.names = names
        self.variables = variables
        self.recorder = recorder
        self.callers = callers
        self._locations: dict[ast.AST, Location] = {}
        self.defined: set[str] = set()  # names assigned in the region that is being compiled
        known = recorder.problems.get(id(source))
        if known is None:
            known = recorder.problems[id(source)] = find(source.tree, names)
        self.problems = known

    def reject(self, node: ast.AST) -> None:
        """Raises the language error that stands at `node`, if there is one."""
        problem = self.problems.get(id(node))
        if problem is not None:
            raise problem.error(self.source)

    def at(self, node: ast.AST) -> _At:
        """`with self.at(node):` operations recorded inside come from `node`, and errors raised
        inside are about it."""
        return _At(self, node)

    def location(self, node: ast.AST) -> Location:
        """The place of `node`, with the calls that led there."""
        found = self._locations.get(node)
        if found is None:
            found = self._locations[node] = Location(self.source.span(node), self.callers)
        return found

    def error(
        self, node: ast.AST, message: str, kind: type[CompilationError] = CompilationError
    ) -> CompilationError:
        """A language error at `node`."""
        source = self.source
        return kind(source.text, source.relative(node), message, source.span(node))


class _At:
    __slots__ = ("context", "node", "before")

    def __init__(self, context: Context, node: ast.AST) -> None:
        self.context = context
        self.node = node

    def __enter__(self) -> None:
        recorder = self.context.recorder
        self.before = recorder.location
        recorder.location = self.context.location(self.node)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.context.recorder.location = self.before
        if error is None:
            return
        if isinstance(error, CompilationError):
            told = error.span is not None and error.__cause__ is not None
            if error.node is None and not told:
                message = error.error_message or ""
                raise self.context.error(self.node, message, type(error)) from error
        elif isinstance(error, _ABOUT_THE_PROGRAM):
            raise self.context.error(self.node, str(error)) from error


_ABOUT_THE_PROGRAM = (
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    KeyError,
    AssertionError,
    ZeroDivisionError,
    NameError,
)

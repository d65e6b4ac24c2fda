"""What is being compiled: the source, the variables, where the recorder stands; and errors at nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

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

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Operations recorded inside come from `node`; errors raised inside are about it."""
        before = self.recorder.location
        self.recorder.location = Location(self.source.span(node), self.callers)
        try:
            yield
        except CompilationError as error:
            if error.node is not None or error.span is not None and error.__cause__ is not None:
                raise
            raise self.error(node, error.error_message or "", type(error)) from error
        except (TypeError, ValueError, AttributeError, IndexError, KeyError, AssertionError,
                ZeroDivisionError, NameError) as error:  # fmt: skip
            raise self.error(node, str(error)) from error
        finally:
            self.recorder.location = before

    def error(
        self, node: ast.AST, message: str, kind: type[CompilationError] = CompilationError
    ) -> CompilationError:
        """A language error at `node`."""
        source = self.source
        return kind(source.text, source.relative(node), message, source.span(node))

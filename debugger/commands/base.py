"""What all families of commands share: where the session stands, what is looked at, how it is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from blockstep.debugger.commands import values
from blockstep.debugger.commands.elements import parse_element
from blockstep.debugger.commands.functions import functions_of
from blockstep.debugger.commands.numbering import Numbering
from blockstep.debugger.commands.places import current_line, place_text
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.debugger.commands.table import Table
from blockstep.debugger.moments import Frame, Stop
from blockstep.debugger.session import Session
from blockstep.diagnostics.source import tree
from blockstep.interp.memory import View
from blockstep.language.function import JITFunction
from blockstep.language.value import tensor
from blockstep.options import Program
from blockstep.runtime.ladder.launch import Launch, take

STARTED = "nothing runs yet: `run` starts the launch"


class Base:
    """State of a prompt. `at` numbers the frame that is looked at, 0 the outermost."""

    table: Table

    def __init__(self, session: Session, plain: bool = False, color: bool = False) -> None:
        self.session = session
        self.plain = plain  # ASCII only
        self.color = color
        self.first: Program | None = None  # the instance that the session began with
        self.stop: Stop | None = None
        self.at = 0
        self.listed = 0  # the last line that `list` showed
        self.focus: values.Index | None = None
        self.displays: dict[int, str] = {}
        self.numbers = Numbering()
        self.depth = 0  # of files that run files

    # Where the session stands.

    @property
    def stopped(self) -> Stop:
        """The stop that is shown. Raises Refused before the first."""
        if self.stop is None:
            raise Refused(STARTED)
        return self.stop

    @property
    def frames(self) -> Sequence[Frame]:
        """The calls at the stop, outermost first. Raises Refused where nothing runs."""
        frames = self.stopped.frames
        if not frames:
            raise Refused("no program instance is running: the launch is over")
        return frames

    @property
    def frame(self) -> Frame:
        """The call that is looked at."""
        return self.frames[self.at]

    def look_at(self, number: int) -> None:
        """Chooses a call."""
        self.at, self.listed = number, 0

    # Reading what was typed.

    def number(self, text: str) -> int:
        """A whole number. Raises Refused."""
        if not text.strip().isdigit():
            raise Refused(f"a number is wanted, not {text.strip() or 'nothing'}")
        return int(text)

    def count(self, text: str) -> int:
        """How many times; once, if nothing is said."""
        found = self.number(text) if text else 1
        if found < 1:
            raise Refused("at least once")
        return found

    def parsed(self, text: str) -> ast.expr:
        """An expression. Raises Refused for what is none."""
        if not text.strip():
            raise Refused("an expression is wanted")
        try:
            return ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise Refused(self._no_expression(text, error)) from None

    def _no_expression(self, text: str, error: SyntaxError) -> str:
        try:
            ast.parse(text.strip())
        except SyntaxError:
            return f"{text}: {error.msg}"
        return (
            f"{text}: only expressions. What is shown is a recording that has to run the same way "
            "again, so nothing is assigned here; `blockstep debug --pdb` lets you"
        )

    def value(self, text: str) -> Any:
        """The value of an expression over the names at the frame. Raises Refused."""
        self.parsed(text)
        try:
            return self.session.evaluate(text.strip(), self.frame)
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {_first_line(error)}") from error

    def element(self, text: str) -> tuple[str, tuple[int, ...]]:
        """ARG[i, j]. Raises Refused."""
        return parse_element(text, self.arrays(), self._index_value)

    def _index_value(self, node: ast.expr) -> Any:
        """A number needs no kernel that runs."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            return self.value(ast.unparse(node))

    def arrays(self) -> list[Any]:
        """The views of the array arguments."""
        return list(self.session.views)

    # Saying it.

    def place_of(self, frame: Frame) -> str:
        """add.py:10 in add."""
        return place_text(frame.file, frame.line, frame.function)

    def place_and_line(self) -> str:
        """The frame that is looked at."""
        frame = self.frame
        return f"{self.place_of(frame)}\n{current_line(frame.file, frame.line)}"

    def focus_for(self, value: Any) -> values.Index | None:
        """The element of a value that is in focus, None for none."""
        if self.focus is None or not values.is_block(value):
            return None
        try:
            return values.focus_in(value.shape, self.focus)
        except Refused:
            return None

    def display_line(self, number: int) -> str:
        """A displayed expression and its value, or why it has none here."""
        text = self.displays[number]
        try:
            value = self.value(text)
        except Refused as refused:
            return f"{number}: {text}: {refused}"
        return f"{number}: {text} = {values.text_of(value, self.focus_for(value))}"

    def displayed(self) -> str:
        """All of them."""
        return "\n".join(self.display_line(number) for number in self.displays)

    def function_lines(self, frame: Frame) -> tuple[int, int]:
        """The first and last line of the function of a frame."""
        module = tree(frame.file)
        found: ast.FunctionDef | None = None
        for node in ast.walk(module) if module else ():
            inside = isinstance(node, ast.FunctionDef) and node.name == frame.function
            if inside and node.lineno <= frame.line <= (node.end_lineno or 0):  # type: ignore[attr-defined]
                found = node  # type: ignore[assignment]
        if found is None:
            return 1, 1 << 30
        first = min([found.lineno, *[d.lineno for d in found.decorator_list]])
        return first, found.end_lineno or found.lineno

    def functions(self) -> dict[str, JITFunction]:
        """The kernel and the functions that it calls."""
        return functions_of(self.session.launch.function)

    def kernel_file(self) -> str:
        """The file that a line number alone is of."""
        if self.stop is not None and self.stop.frames:
            return self.frame.file
        return self.session.launch.function.prepared.source.file

    def breakpoint_lines(self, file: str) -> set[int]:
        """The lines of a file where breakpoints are."""
        return {b.line for b in self.session.points.breakpoints if b.enabled and b.file == file}

    def memory_of(self, value: Any) -> tuple[str, Any] | None:
        """The argument that a pointer leads into, and its memory where the session stands."""
        origin = value.origin if isinstance(value, tensor) else None
        if not isinstance(origin, View) or origin.storage is None:
            return None
        return origin.name, self.session.array(origin.name)

    @contextmanager
    def fresh_launch(self) -> Iterator[Launch]:
        """The launch once more, with memory as it was before it, for whoever runs it all: afterwards
        the session stands where it stood."""
        launch = self.session.launch
        with self.before_launch():
            again = take(launch.function, launch.args, launch.kwargs, launch.grid, launch.host)
            again.number = launch.number
            try:
                yield again
            finally:
                again.memory.restore()

    @contextmanager
    def before_launch(self) -> Iterator[None]:
        """Memory is as it was before the launch inside, and afterwards as the session had it."""
        memory = self.session.launch.memory
        storages = [s for s in self.session.launch.bound.space.storages if not s.readonly]
        flags = [s.written for s in storages if s.written is not None]
        now = [(array, array.copy()) for array in (*[s.data for s in storages], *flags)]
        memory.restore()
        try:
            yield
        finally:
            for array, kept in now:
                array[...] = kept

    def lines_before(self) -> int:
        """Where the session stands in its run. `Running` has it."""
        raise NotImplementedError

    def repeat(self) -> None:
        """Runs the launch once more, to where the session stands. `Running` has it."""
        raise NotImplementedError

    def run_line(self, line: str) -> Reply:
        """Runs one command; `Commands` has it."""
        raise NotImplementedError


def _first_line(error: BaseException) -> str:
    text: Any = getattr(error, "error_message", None) or str(error)
    lines = str(text).strip().splitlines()
    return lines[0] if lines else ""


__all__ = ["Base"]

"""What keys and clicks mean in each pane. Nothing here knows a terminal.

A pane has `move` (arrow keys, the wheel), `clicked` (the mouse), `enter`, `turn` (`[` and `]`, pages)
and `other` (`,` and `.`, the subject before or after).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from blockstep.debugger.screen.state import NONE, State
from blockstep.debugger.views.grid import grid_shape, index_of, program_at
from blockstep.debugger.views.planes import Look, look_at, moved, paged, turned

Runs = Callable[[str], None]


@dataclass(slots=True, eq=False)
class Act:
    """A pane in which nothing can be done. `run` does a command."""

    state: State
    run: Runs
    has_cursor: ClassVar[bool] = False  # a click moves it; elsewhere a click acts

    def move(self, down: int, across: int) -> None:
        """The cursor, so many lines or columns."""

    def clicked(self, target: Any) -> None:
        """A place was clicked that stands for something."""

    def enter(self) -> None:
        """The subject under the cursor is wanted."""

    def turn(self, by: int) -> None:
        """Another page."""

    def other(self, by: int) -> None:
        """Another subject."""


def _next(names: Sequence[str], name: str | None, by: int) -> str | None:
    """The name so many further on, round the end."""
    if not names:
        return None
    at = names.index(name) if name in names else -by
    return names[(at + by) % len(names)]


class Source(Act):
    """Lines; a click or Enter toggles a breakpoint."""

    def move(self, down: int, across: int) -> None:
        frame = self.state.scene.frame
        if frame is not None:
            self.state.row = max((self.state.row or frame.line) + down, 1)

    def clicked(self, target: Any) -> None:
        self.state.row = target
        self.enter()

    def enter(self) -> None:
        frame = self.state.scene.frame
        if frame is None:
            return
        row = self.state.row or frame.line
        there = [p for p in self.state.scene.breakpoints if (p.file, p.line) == (frame.file, row)]
        if there:
            self.run(f"delete {' '.join(str(p.number) for p in there)}")
        else:
            self.run(f"break {frame.file}:{row}")


class Locals(Act):
    """Names; the chosen one is what the block pane shows."""

    has_cursor = True

    def move(self, down: int, across: int) -> None:
        names = list(self.state.scene.locals)
        at = names.index(self.state.name) if self.state.name in names else -1
        if names:
            self.state.pinned = names[min(max(at + down, 0), len(names) - 1)]

    def clicked(self, target: Any) -> None:
        if target in self.state.scene.locals:
            self.state.pinned = target

    def enter(self) -> None:
        if self.state.name is not None:
            self.run(f"print {self.state.name}")

    def other(self, by: int) -> None:
        self.move(by, 0)


class Array(Act):
    """What maps of arrays share: a cursor on the elements."""

    has_cursor = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is shown."""
        return ()

    @property
    def look(self) -> Look:
        """How it is looked at."""
        return Look()

    @look.setter
    def look(self, look: Look) -> None:
        """Keeps it."""

    def move(self, down: int, across: int) -> None:
        self.look = moved(self.shape, self.look, down, across)

    def clicked(self, target: Any) -> None:
        self.look = replace(look_at(self.shape, self.look), at=target)

    def turn(self, by: int) -> None:
        self.look = paged(self.shape, self.look, by)

    def axes(self) -> None:
        """The next pair of axes."""
        self.look = turned(self.shape, self.look)

    def pages(self) -> None:
        """All of it at once, or page by page."""
        look = look_at(self.shape, self.look)
        self.look = replace(look, pages=not look.pages)

    def numbers(self) -> None:
        """Numbers where they fit, always, never."""
        look = look_at(self.shape, self.look)
        self.look = replace(look, numbers={None: True, True: False, False: None}[look.numbers])


class Block(Array):
    """The block of a name."""

    @property
    def shape(self) -> tuple[int, ...]:
        block = self.state.scene.block(self.state.name)
        return () if block is None else block.shape

    @property
    def look(self) -> Look:
        return self.state.look

    @look.setter
    def look(self, look: Look) -> None:
        self.state.looks[self.state.name or ""] = look

    def other(self, by: int) -> None:
        scene = self.state.scene
        names = [n for n in scene.locals if scene.block(n) is not None]
        self.state.pinned = _next(names, self.state.name, by)

    def enter(self) -> None:
        if self.state.name is not None:
            self.run(f"print {self.state.name}")

    def mask(self) -> None:
        """The next mask, and none after the last."""
        names = [*(text for text, _ in self.state.masks), NONE]
        chosen = _next(names, self.state.mask_name, 1)
        if self.state.name is not None and chosen is not None:
            self.state.mask[self.state.name] = chosen


class Memory(Array):
    """An argument. Enter asks who wrote its elements."""

    asks: Callable[[str], None]

    @property
    def shape(self) -> tuple[int, ...]:
        name = self.state.memory_name
        array = self.state.array(name) if name is not None else None
        return () if array is None else tuple(array.shape)

    @property
    def look(self) -> Look:
        return self.state.memory_looks.get(self.state.memory_name or "", Look())

    @look.setter
    def look(self, look: Look) -> None:
        self.state.memory_looks[self.state.memory_name or ""] = look

    def other(self, by: int) -> None:
        self.state.argument = _next(list(self.state.scene.arguments), self.state.memory_name, by)

    def enter(self) -> None:
        name = self.state.memory_name
        if name is None or self.state.array(name) is None:
            return
        if self.state.writers.pop(name, None) is None:
            self.asks(name)

    def ask(self, command: str) -> None:
        """`watch` or `blame` for the element under the cursor."""
        name = self.state.memory_name
        if name is not None and self.shape:
            at = ", ".join(map(str, look_at(self.shape, self.look).at))
            self.run(f"{command} {name}[{at}]")


class Grid(Array):
    """Program instances. A click or Enter goes there."""

    has_cursor = False

    @property
    def shape(self) -> tuple[int, ...]:
        return grid_shape(self.state.scene.grid.grid)

    @property
    def look(self) -> Look:
        return self.state.grid_look

    @look.setter
    def look(self, look: Look) -> None:
        self.state.grid_look = look

    def clicked(self, target: Any) -> None:
        grid = self.state.scene.grid.grid
        self.look = replace(look_at(self.shape, self.look), at=index_of(grid, target))
        self.enter()

    def enter(self) -> None:
        program = program_at(self.state.scene.grid.grid, look_at(self.shape, self.look).at)
        self.run(f"program {','.join(map(str, program))}")


class Findings(Act):
    """Findings; the chosen one is told in full. Enter goes to its program instance."""

    def move(self, down: int, across: int) -> None:
        last = max(len(self.state.scene.findings) - 1, 0)
        self.state.finding = min(max(self.state.finding + down, 0), last)

    def clicked(self, target: Any) -> None:
        self.state.finding = target

    def enter(self) -> None:
        found = self.state.scene.findings
        if self.state.finding < len(found):
            program = found[self.state.finding].program
            if program is not None:
                self.run(f"program {','.join(map(str, program))}")


class Calls(Act):
    """Calls; the chosen one is what source and locals show."""

    def move(self, down: int, across: int) -> None:
        if self.state.scene.frames and down:
            self.run("up" if down > 0 else "down")  # the innermost call stands first

    def clicked(self, target: Any) -> None:
        self.run(f"frame {target}")


class Points(Act):
    """Breakpoints; a click switches one on or off."""

    def clicked(self, target: Any) -> None:
        point = next((p for p in self.state.scene.points if p.number == target), None)
        if point is not None:
            self.run(f"{'disable' if point.enabled else 'enable'} {point.number}")


class Output(Act):
    """Answers; the arrows scroll."""

    def move(self, down: int, across: int) -> None:
        self.state.answer = None
        self.state.back = min(max(self.state.back - down, 0), max(len(self.state.log) - 1, 0))


def acts_of(state: State, run: Runs, asks: Callable[[str], None]) -> dict[str, Act]:
    """By the names of panes. `asks` finds out who wrote an argument."""
    kinds: dict[str, type[Act]] = {
        "source": Source, "locals": Locals, "block": Block, "grid": Grid, "findings": Findings,
        "calls": Calls, "points": Points, "output": Output,
    }  # fmt: skip
    found = {name: kind(state, run) for name, kind in kinds.items()}
    found["memory"] = memory = Memory(state, run)
    memory.asks = asks
    return found


__all__ = ["Act", "Array", "Block", "Memory", "acts_of"]

"""`State`: what a person has chosen to look at. Keys and clicks change it, panes draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.screen.scene import Scene, born, masks_of, scene_of
from blockstep.debugger.views.blocks import Block
from blockstep.debugger.views.grid import grid_shape, index_of
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.planes import Look, look_at
from blockstep.debugger.views.text import Shown

TABS = ("locals", "block", "grid", "memory", "findings", "calls", "points", "output")
MOST_LOG = 2000  # lines of output that are kept
MOST_ELEMENTS = 1 << 24  # of an argument that is drawn
NONE = "none"
COMMAND = "class:output.command"


@dataclass(slots=True, eq=False)
class State:
    """`version` counts changes, so that nothing is drawn twice."""

    commands: Commands
    palette: Palette
    scene: Scene
    tab: str = "locals"
    busy: bool = False
    help: bool = False
    version: int = 0
    followed: str | None = None  # the block that the last line made
    pinned: str | None = None  # the name that a person chose
    looks: dict[str, Look] = field(default_factory=dict)
    grid_look: Look = field(default_factory=Look)
    argument: str | None = None
    memory_looks: dict[str, Look] = field(default_factory=dict)
    writers: dict[str, Any] = field(default_factory=dict)
    finding: int = 0
    row: int = 0  # the line of source that is chosen, 0: none
    tops: dict[str, int] = field(default_factory=dict)  # by file, the first line that is shown
    drawn: tuple[Any, Shown] | None = None  # the memory that was drawn last, and of what
    mask: dict[str, str] = field(default_factory=dict)  # by name, which one was chosen
    log: list[tuple[str, str]] = field(default_factory=list)
    back: int = 0  # lines that the output is scrolled up
    answer: int | None = None  # the line of the last command, which is in sight until one scrolls
    seen: int = 0  # findings that were known when the findings were shown last

    def changed(self) -> None:
        """Something has to be drawn anew."""
        self.version += 1

    # After commands.

    def refresh(self) -> None:
        """Takes down where the session stands now."""
        before, self.scene = self.scene, scene_of(self.commands)
        if before.written == self.scene.written:  # nothing was written: what was read holds
            self.scene.arrays.update(before.arrays)
        moved = before.stop is not self.scene.stop or before.at != self.scene.at
        if moved:
            self.row = 0
            self.followed = born(before, self.scene) or self._still()
            self._go_here()
        if len(self.scene.findings) > len(before.findings):
            self.finding = len(self.scene.findings) - 1
        self.changed()

    def _still(self) -> str | None:
        """The block that was followed, or the last that there is."""
        if self.followed in self.scene.locals:
            return self.followed
        blocks = [n for n in self.scene.locals if (b := self.scene.block(n)) and b.shape]
        return blocks[-1] if blocks else None

    def _go_here(self) -> None:
        state = self.scene.grid
        stop = self.scene.stop
        if stop is not None and stop.program is not None:
            self.grid_look = Look(at=index_of(state.grid, stop.program))
        self.grid_look = look_at(grid_shape(state.grid), self.grid_look)

    def say(self, text: str, style: str = "") -> None:
        """Adds lines to the output. Of a long answer the beginning is shown."""
        if style == COMMAND:
            self.answer = len(self.log)
        self.log += [(style, line) for line in text.split("\n")]
        gone = max(len(self.log) - MOST_LOG, 0)
        del self.log[:gone]
        if self.answer is not None:
            self.answer = max(self.answer - gone, 0)
        self.back = 0
        self.changed()

    # What is looked at.

    @property
    def name(self) -> str | None:
        """The name whose block is shown."""
        return self.pinned if self.pinned in self.scene.locals else self.followed

    @property
    def block(self) -> Block | None:
        """It, with its mask."""
        block = self.scene.block(self.name)
        if block is None:
            return None
        text = self.mask_name
        return block if text == NONE else block.masked_by(dict(self.masks)[text], text)

    @property
    def masks(self) -> list[tuple[str, Any]]:
        """The masks that the block may have."""
        name = self.name
        if name is None:
            return []
        known = self.scene.masks
        if name not in known:
            if self.busy:
                return []
            known[name] = masks_of(self.commands, self.scene, name)
        return known[name]

    @property
    def mask_name(self) -> str:
        """The mask that is drawn: the one chosen, else the first of the source."""
        names = [text for text, _ in self.masks]
        chosen = self.mask.get(self.name or "")
        if chosen == NONE or chosen in names:
            return chosen or NONE
        return names[0] if names else NONE

    @property
    def look(self) -> Look:
        """How the block is looked at."""
        block = self.scene.block(self.name)
        return look_at(block.shape if block is not None else (), self.looks.get(self.name or ""))

    @property
    def memory_name(self) -> str | None:
        """The argument whose memory is shown: the one chosen, else the last."""
        names = list(self.scene.arguments)
        if self.argument in names:
            return self.argument
        return names[-1] if names else None

    def is_too_large(self, name: str) -> bool:
        """Whether an argument is not drawn."""
        return self.commands.session.view(name).size > MOST_ELEMENTS

    def array(self, name: str) -> Any:
        """An argument's elements at the scene; None while they cannot be read, or are too many."""
        if name not in self.scene.arrays:
            if self.busy or self.is_too_large(name):
                return None
            self.scene.arrays[name] = self.commands.session.array(name)
        return self.scene.arrays[name]


__all__ = ["COMMAND", "NONE", "TABS", "State"]

"""`Scene`: what the screen shows of a session, taken down where it stands.

The screen draws while the kernel runs on in its thread; so it never looks at the session itself, only
at the last scene.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.moments import Frame, Stop
from blockstep.debugger.points import EVENTS, Breakpoint, Watch
from blockstep.debugger.session import GridState
from blockstep.debugger.views.blocks import Block, block_of
from blockstep.diagnostics.source import tree
from blockstep.findings import Finding


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One moment. `at` numbers the call that is looked at; `masks` has what was evaluated of masks in
    the source; `arrays` the arguments that were looked at."""

    stop: Stop | None
    at: int
    grid: GridState
    findings: Sequence[Finding]
    breakpoints: Sequence[Breakpoint]
    points: Sequence[Breakpoint | Watch]
    events: Sequence[str]
    position: tuple[int, int]
    held: int
    limit: int
    first: int
    arguments: Mapping[str, str]  # name and type
    written: tuple[Any, int]  # the log of memory, and how many of its writes are in memory
    masks: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)

    @property
    def frames(self) -> Sequence[Frame]:
        """The calls, outermost first."""
        return self.stop.frames if self.stop is not None else ()

    @property
    def frame(self) -> Frame | None:
        """The call that is looked at."""
        return self.frames[self.at] if self.at < len(self.frames) else None

    @property
    def locals(self) -> Mapping[str, Any]:
        """Its names."""
        return self.frame.locals if self.frame is not None else {}

    def block(self, name: str | None) -> Block | None:
        """A name's value, if it has elements."""
        return (
            block_of(name, self.locals[name]) if name is not None and name in self.locals else None
        )


def scene_of(commands: Commands) -> Scene:
    """What there is to see now. The kernel does not run."""
    session, stop = commands.session, commands.stop
    points, history = session.points, session.history
    every: list[Breakpoint | Watch] = [*points.breakpoints, *points.watches]
    events = [event for event in EVENTS if event in points.events]
    if points.error is not None:
        events.append(f"error > {points.error:g} ulps")
    return Scene(
        stop, commands.at if stop is not None else 0, session.grid_state(),
        tuple(session.findings), tuple(points.breakpoints), sorted(every, key=lambda p: p.number),
        tuple(events), session.position, history.bytes, history.limit, history.first,
        {view.name: view.type_text for view in session.views}, (history.log, history.log.position),
    )  # fmt: skip


def born(before: Scene | None, now: Scene) -> str | None:
    """The block that the last line made or changed: what a person wants to see next."""
    old = before.locals if before is not None else {}
    found = None
    for name in now.locals:
        block = now.block(name)
        if block is not None and block.shape and old.get(name) is not now.locals[name]:
            found = name
    return found


def masks_of(commands: Commands, scene: Scene, name: str) -> list[tuple[str, Any]]:
    """Masks that may belong to a block, each with what it is called: those of accesses in the source
    that load or store it, then names that are blocks of truth values of its shape."""
    block, frame = scene.block(name), scene.frame
    if block is None or frame is None or not block.shape:
        return []
    found: dict[str, Any] = {}
    for text in _in_source(frame, name):
        value = _evaluated(commands, frame, text)
        if _fits(value, block.shape):
            found[text] = np.asarray(value.handle)
    for other, value in scene.locals.items():
        if other != name and _fits(value, block.shape):
            found.setdefault(other, np.asarray(value.handle))
    return list(found.items())


def _fits(value: Any, shape: tuple[int, ...]) -> bool:
    block = block_of("", value)
    if block is None or not block.shape or np.asarray(block.values).dtype.kind != "b":
        return False
    own = block.shape
    return len(own) == len(shape) and all(a in (1, b) for a, b in zip(own, shape, strict=True))


def _in_source(frame: Frame, name: str) -> list[str]:
    """What stands after `mask=` where a name is loaded or stored, in the function of a frame."""
    module = tree(frame.file)
    found = []
    for node in ast.walk(module) if module else ():
        if not isinstance(node, ast.FunctionDef) or node.name != frame.function:
            continue
        for inner in ast.walk(node):
            call = _access_of(inner, name)
            found += (
                [ast.unparse(k.value) for k in call.keywords if k.arg == "mask"] if call else []
            )
    return list(dict.fromkeys(found))


def _access_of(node: ast.AST, name: str) -> ast.Call | None:
    """`NAME = load(...)`, or `store(pointer, NAME, ...)`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        return node.value if name in names else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        given = node.value.args[1:2]
        is_it = bool(given) and isinstance(given[0], ast.Name) and given[0].id == name
        return node.value if is_it else None
    return None


def _evaluated(commands: Commands, frame: Frame, text: str) -> Any:
    """None for what has no value here: a name that is not yet made."""
    try:
        return commands.session.evaluate(text, frame)
    except Exception:  # noqa: BLE001  (whatever the kernel's own expression raises)
        return None


__all__ = ["Scene", "born", "masks_of", "scene_of"]

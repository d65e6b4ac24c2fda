"""What each pane shows of a `State`: the views, given what a person looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from blockstep.debugger.screen.state import TABS, State
from blockstep.debugger.views import lists, status
from blockstep.debugger.views.blocks import Block
from blockstep.debugger.views.grid import grid, progress
from blockstep.debugger.views.heat import heat
from blockstep.debugger.views.memory import Memory, memory
from blockstep.debugger.views.names import names
from blockstep.debugger.views.planes import Look
from blockstep.debugger.views.source import Place, source
from blockstep.debugger.views.text import Line, Shown, cut, said

Draws = Callable[[State, int, int], Shown]


def draw_source(state: State, width: int, height: int) -> Shown:
    """The file of the call that is looked at."""
    frame = state.scene.frame
    if frame is None:
        return said("the launch is over: `continue` goes on with the script, `run` begins again")
    found = {f.span.line for f in state.scene.findings if f.span.file == frame.file}
    place = Place(frame.file, frame.line, state.row)
    top = state.tops.get(frame.file)
    shown = source(place, state.scene.breakpoints, found, width, height, state.palette, top)
    if shown.spots:
        state.tops[frame.file] = shown.spots[0].target
    return shown


def draw_locals(state: State, width: int, height: int) -> Shown:
    """The names of that call."""
    return names(state.scene.locals, state.name, width, height, state.palette)


def draw_block(state: State, width: int, height: int) -> Shown:
    """The block that was chosen, or that the last line made."""
    block = state.block
    if block is None:
        return said("no block yet: choose a name in locals")
    return heat(block, state.look, width, height, state.palette)


def draw_grid(state: State, width: int, height: int) -> Shown:
    """All program instances."""
    return grid(state.scene.grid, state.grid_look, width, height, state.palette)


def draw_memory(state: State, width: int, height: int) -> Shown:
    """An argument: its elements, or who wrote them if that was asked for."""
    name = state.memory_name
    if name is None:
        return said("the launch has no array arguments")
    values = state.array(name)
    if values is None and state.is_too_large(name):
        kind = state.scene.arguments[name]
        return said(
            f"{name} {kind} has too many elements to be drawn:\n`print tl.load({name} + ...)` reads some"
        )
    if values is None:
        return said("the kernel runs")
    wanted = (name, state.memory_looks.get(name, Look()), width, height)
    shown = (values, state.writers.get(name))
    if state.drawn is not None and _is_same(state.drawn[0], (wanted, shown)):
        return state.drawn[1]
    picture = _memory(state, name, *shown, width, height)
    state.drawn = ((wanted, shown), picture)
    return picture


def _is_same(one: Any, two: Any) -> bool:
    """Whether the same arrays, not equal ones, were looked at in the same way."""
    return one[0] == two[0] and all(a is b for a, b in zip(one[1], two[1], strict=True))


def _memory(state: State, name: str, values: Any, writers: Any, width: int, height: int) -> Shown:
    look, kind = state.memory_looks.get(name, Look()), state.scene.arguments[name]
    if writers is None:
        return heat(Block(name, kind, values), look, width, height, state.palette)
    shown = Memory(name, kind, values, writers, state.scene.grid.grid)
    return memory(shown, look, width, height, state.palette)


def draw_findings(state: State, width: int, height: int) -> Shown:
    """What the checkers have found."""
    return lists.findings(state.scene.findings, state.finding, width, height, state.palette)


def draw_points(state: State, width: int, height: int) -> Shown:
    """Breakpoints, watched elements, events."""
    return lists.points(state.scene.points, state.scene.events, width, height, state.palette)


def draw_calls(state: State, width: int, height: int) -> Shown:
    """The calls that led here."""
    return lists.calls(state.scene.frames, state.scene.at, width, height, state.palette)


def draw_output(state: State, width: int, height: int) -> Shown:
    """Commands and their answers, and what the kernel prints."""
    if state.answer is not None:
        state.back = max(len(state.log) - state.answer - height, 0)
    last = max(len(state.log) - state.back, 0)
    part = state.log[max(last - height, 0) : last]
    lines: list[Line] = [
        cut([(style, text)], width, state.palette.signs.more) for style, text in part
    ]
    return Shown(lines) if lines else said("what commands answer is shown here")


def draw_title(state: State, width: int, height: int) -> Shown:
    """Where the launch stands."""
    launch = state.commands.session.launch
    line = status.title(launch.kernel, launch.grid, state.scene.stop, state.busy, width, state.palette)  # fmt: skip
    return Shown([line])


def draw_tabs(state: State, width: int, height: int) -> Shown:
    """The tabs; findings that nobody has seen are marked."""
    marks = ["findings"] if len(state.scene.findings) > state.seen else []
    return status.tabs(TABS, state.tab, marks, width, state.palette)


def draw_history(state: State, width: int, height: int) -> Shown:
    """How far one can go back, and what that costs; how far the launch is."""
    scene = state.scene
    far = progress(scene.grid)
    line = lists.history(scene.position, scene.held, scene.limit, scene.first, width, state.palette)
    told: Line = [("class:quiet", f"; {far.done} of {far.total} instances done")]
    return Shown([cut([*line, *told], width, state.palette.signs.more)])


DRAWS: Mapping[str, Draws] = {
    "source": draw_source, "locals": draw_locals, "block": draw_block, "grid": draw_grid,
    "memory": draw_memory, "findings": draw_findings, "calls": draw_calls, "points": draw_points,
    "output": draw_output,
}  # fmt: skip

_TITLES = {"points": "breakpoints", "block": "block", "output": "output"}


def heading_of(state: State, name: str) -> str:
    """What stands above a pane."""
    scene = state.scene
    if name == "source" and scene.frame is not None:
        return f"{scene.frame.file.rsplit('/', 1)[-1]} in {scene.frame.function}"
    if name == "locals" and scene.frame is not None:
        return f"locals of {scene.frame.function}"
    if name == "findings" and scene.findings:
        return f"findings ({len(scene.findings)})"
    return _TITLES.get(name, name)


__all__ = ["DRAWS", "draw_history", "draw_tabs", "draw_title", "heading_of"]

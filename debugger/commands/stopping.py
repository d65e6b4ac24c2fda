"""Words for a stop: why the session stands there, the place, the line."""

from __future__ import annotations

from typing import Any

from blockstep import diagnostics
from blockstep.debugger.commands.elements import element_text
from blockstep.debugger.commands.places import current_line, place_text
from blockstep.debugger.commands.values import number_text, plain
from blockstep.debugger.moments import Born, Frame, Reason, Stop, Strayed, Written
from blockstep.debugger.points import Breakpoint
from blockstep.debugger.session import Session
from blockstep.diagnostics.words import plural, triple
from blockstep.export import finding_json


def text_of(stop: Stop, before: Stop | None, session: Session, color: bool = False) -> str:
    """What is said of a stop. A step within one function shows the line only."""
    lines = _why(stop, session, color)
    if not stop.frames:
        return "\n".join(lines)
    here = stop.frames[-1]
    if lines or before is None or not _same_call(stop, before):
        lines.append(f"{place_text(here.file, here.line, here.function)}{_instance(stop, session)}")
    return "\n".join([*lines, current_line(here.file, here.line)])


def _same_call(stop: Stop, before: Stop) -> bool:
    if stop.program != before.program or len(stop.frames) != len(before.frames):
        return False
    return _function(stop.frames[-1]) == _function(before.frames[-1])


def _function(frame: Frame) -> tuple[str, str]:
    return frame.file, frame.function


def _instance(stop: Stop, session: Session) -> str:
    assert stop.program is not None
    return f", program instance {triple(stop.program)} of grid {triple(session.launch.grid)}"


def _why(stop: Stop, session: Session, color: bool) -> list[str]:
    """Lines before the place; none for a step."""
    detail = stop.detail
    if isinstance(detail, Breakpoint):
        return [f"breakpoint {detail.number}"]
    if isinstance(detail, Written):
        return [written_text(detail)]
    if isinstance(detail, Born):
        return [born_text(detail)]
    if isinstance(detail, Strayed):
        return [strayed_text(detail)]
    if stop.finding is not None:
        return [diagnostics.render(stop.finding, color)]
    if stop.reason is Reason.EXCEPTION:
        return [f"{type(detail).__name__}: {detail}"]
    if stop.reason is Reason.INTERRUPT:
        return ["interrupted"]
    if stop.reason is Reason.BEGIN:
        return ["the record begins here"]
    if stop.reason is Reason.INSTANCE_END:
        return [f"{session.launch.kernel} returns"]
    return _end(stop, session) if stop.reason is Reason.END else []


def written_text(written: Written) -> str:
    """out_ptr[3]: 0.0 becomes 6.0, by add.py:14 in program instance (1, 0, 0)."""
    element = element_text(written.argument, written.index)
    change = f"{number_text(written.old)} becomes {number_text(written.new)}"
    return (
        f"{element}: {change}, by {place_text(written.file, written.line)} "
        f"in program instance {triple(written.program)}"
    )


def born_text(born: Born) -> str:
    """the first NaN: sub of -inf and -inf, element (0,)."""
    kind = {"nan": "NaN", "inf": "infinity"}[born.kind]
    made = (
        f"{born.op} of {' and '.join(map(number_text, born.operands))}"
        if born.operands
        else born.op
    )
    where = f" at element {born.element}" if born.element else ""
    return f"the first {kind} of program instance {triple(born.program)}: {made}{where}"


def strayed_text(strayed: Strayed) -> str:
    """exp is off by 12.5 ulps at element (3,): 1.5, and 1.50001 without rounding."""
    where = f" at element {strayed.element}" if strayed.element else ""
    values = f"{strayed.value:.9g}, and {strayed.shadow:.9g} without rounding"
    return f"{strayed.op} is off by {strayed.ulps:.3g} ulps{where}: {values}"


def _end(stop: Stop, session: Session) -> list[str]:
    error = session.error
    if error is not None:
        return [f"the launch has ended in {type(error).__name__}: {error}"]
    x, y, z = session.launch.grid
    found = session.findings
    said = f"; {plural(len(found), 'finding')}" if found else ""
    return [f"the launch is over: {plural(x * y * z, 'program instance')} ran{said}"]


def json_of(stop: Stop) -> dict[str, Any]:
    """A stop as plain data."""
    found: dict[str, Any] = {
        "reason": stop.reason.value,
        "program": None if stop.program is None else list(stop.program),
        "frames": [frame_json(f) for f in stop.frames],
        "position": stop.position[0],
        "recorded": stop.position[1],
        "past": stop.past,
    }
    if stop.frames:
        found |= frame_json(stop.frames[-1])
    return found | _detail_json(stop)


def frame_json(frame: Frame) -> dict[str, Any]:
    """A call as plain data."""
    return {"function": frame.function, "file": frame.file, "line": frame.line}


def _detail_json(stop: Stop) -> dict[str, Any]:
    detail = stop.detail
    if isinstance(detail, Breakpoint):
        return {"breakpoint": detail.number}
    if isinstance(detail, Written):
        return {
            "argument": detail.argument, "index": list(detail.index), "old": plain(detail.old),
            "new": plain(detail.new),
        }  # fmt: skip
    if isinstance(detail, Born):
        return {
            "kind": detail.kind, "op": detail.op, "element": list(detail.element),
            "operands": [plain(x) for x in detail.operands],
        }  # fmt: skip
    if isinstance(detail, Strayed):
        return {
            "op": detail.op, "element": list(detail.element), "ulps": plain(detail.ulps),
            "value": plain(detail.value), "shadow": plain(detail.shadow),
        }  # fmt: skip
    if stop.finding is not None:
        return {"finding": finding_json(stop.finding)}
    return {} if detail is None else {"exception": f"{type(detail).__name__}: {detail}"}


__all__ = ["born_text", "frame_json", "json_of", "text_of", "written_text"]

"""The engine without a terminal: where it stops, what it shows there, how it goes back."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from blockstep.debugger.moments import Reason, Stop, Written
from blockstep.debugger.session import Session
from blockstep.runtime.ladder.launch import take
from tests.debugger import kernels


def line_of(kernel: Any, text: str) -> int:
    """The line of a kernel's source that has the text."""
    lines = kernel.src.splitlines()
    first = kernel.starting_line_number + kernel.raw_src[0].count("@")
    found = [i for i, line in enumerate(lines) if text in line]
    source = open(kernel.fn.__code__.co_filename).read().splitlines()
    at = [i + 1 for i, line in enumerate(source) if line.strip() == lines[found[0]].strip()]
    return min(at, key=lambda n: abs(n - first - found[0]))


@pytest.fixture
def adding() -> Any:
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    session = Session(take(kernels.add, (x, 2 * x, out, 100), {"BLOCK": 16}, (7,)))
    yield session
    session.close()
    assert not out.any()
    assert not [t for t in threading.enumerate() if t.name == "blockstep kernel"]


def place(stop: Stop) -> tuple[str, str]:
    """The function and the text of the line where a session stands."""
    frame = stop.frames[-1]
    source = open(frame.file).read().splitlines()
    return frame.function, source[frame.line - 1].strip()


def test_it_stops_at_the_first_line_of_an_instance_after_those_before_it(adding: Session) -> None:
    stop = adding.start((3, 0, 0))
    assert (stop.reason, stop.program) == (Reason.LINE, (3, 0, 0))
    assert place(stop) == ("add", "pid = tl.program_id(0)")
    out = adding.array("out_ptr")
    assert np.array_equal(out[:48], np.arange(48) * 2.125)
    assert not out[48:].any()
    state = adding.grid_state()
    assert (state.done.sum(), state.here) == (3, 3)


def test_steps_enter_functions_and_next_passes_over_them(adding: Session) -> None:
    adding.start((1, 0, 0))
    names = [place(adding.step())[0] for _ in range(6)]
    assert names == ["add"] * 5 + ["half"]
    caller, inner = adding.stop.frames  # type: ignore[union-attr]
    assert (caller.function, inner.function, sorted(inner.locals)) == ("add", "half", ["x"])
    assert place(adding.finish())[0] == "add"
    before = adding.position[0]
    while place(adding.next())[1] != "y = tl.load(y_ptr + offs, mask=mask)":
        assert place(adding.stop)[0] == "add"  # type: ignore[arg-type]
    assert adding.position[0] > before + 4  # calls were passed over, and recorded


def test_an_instance_ends_with_its_last_values_and_a_step_leads_to_the_next(
    adding: Session,
) -> None:
    adding.start((1, 0, 0))
    stop = adding.finish()
    assert stop.reason is Reason.INSTANCE_END
    assert "y" in stop.frames[-1].locals
    stop = adding.step()
    assert (stop.program, place(stop)[1]) == ((2, 0, 0), "pid = tl.program_id(0)")


def test_next_on_the_last_line_stands_at_the_end_of_the_instance(adding: Session) -> None:
    adding.start((1, 0, 0))
    stop = adding.next()
    while stop.reason is Reason.LINE:
        stop = adding.next()
    assert (stop.reason, stop.program, len(stop.frames)) == (Reason.INSTANCE_END, (1, 0, 0), 1)


def test_going_back_shows_names_and_memory_as_they_were(adding: Session) -> None:
    adding.start((1, 0, 0))
    adding.finish()
    assert adding.array("out_ptr")[16:32].all()
    stop = adding.reverse_step()
    assert place(stop)[1] == "tl.store(out_ptr + offs, x + y, mask=mask)"
    assert stop.past
    assert not adding.array("out_ptr")[16:32].any()
    x = adding.evaluate("x", stop.frames[-1])
    assert np.array_equal(x.handle, np.arange(16, 32, dtype=np.float32) / 8)
    while place(stop)[1] != "x = tl.load(x_ptr + offs, mask=mask)":
        stop = adding.reverse_next()
        assert place(stop)[0] == "add"
    assert "x" not in stop.frames[-1].locals
    stop = adding.cont()
    assert stop.reason is Reason.END
    assert np.array_equal(adding.array("out_ptr"), np.arange(100) * np.float32(2.125))


def test_back_to_the_beginning_and_no_further(adding: Session) -> None:
    adding.start((1, 0, 0))
    for _ in range(9):
        adding.step()
    stop = adding.reverse_continue()
    assert (stop.reason, stop.position[0]) == (Reason.BEGIN, 0)
    assert adding.reverse_step().reason is Reason.BEGIN


def test_breakpoints_at_lines_and_functions_with_conditions(adding: Session) -> None:
    point = adding.points.add(function="half", condition="x > 30")
    stop = adding.run()
    assert (stop.reason, stop.detail) == (Reason.BREAKPOINT, point)
    assert stop.program == (1, 0, 0)  # 16..31: only its last element is above 30
    adding.points.remove(point.number)
    line = line_of(kernels.add, "x = half(x)")
    adding.points.add(file=kernels.add.fn.__code__.co_filename, line=line, ignore=2)
    stop = adding.cont()
    assert stop.program == (2, 0, 0)  # after turns 1 and 2 of the instance before
    assert int(stop.frames[-1].locals["_i"].handle) == 0


def test_a_breakpoint_for_one_instance(adding: Session) -> None:
    adding.points.add(function="half", program=(4, 0, 0), temporary=True)
    assert adding.run().program == (4, 0, 0)
    assert adding.points.breakpoints == []


def test_until_leaves_a_loop(adding: Session) -> None:
    adding.start((0, 0, 0))
    while place(adding.stop)[1] != "x = half(x)":  # type: ignore[arg-type]
        adding.next()
    stop = adding.until()
    assert place(stop)[1] == "y = tl.load(y_ptr + offs, mask=mask)"


def test_a_watched_element_stops_after_the_line_that_writes_it(adding: Session) -> None:
    adding.points.watch(adding.view("out_ptr"), (66,))
    stop = adding.run()
    assert stop.reason is Reason.WATCH
    written = stop.detail
    assert isinstance(written, Written)
    assert (written.program, written.old, written.new) == ((4, 0, 0), 0.0, np.float32(140.25))
    assert written.line == line_of(kernels.add, "tl.store")
    back = adding.reverse_continue()
    assert (back.reason, place(back)[1][:8]) == (Reason.WATCH, "tl.store")
    assert adding.array("out_ptr")[66] == 0


def test_the_last_write_of_an_element_after_the_launch(adding: Session) -> None:
    assert adding.run().reason is Reason.END
    stop = adding.last_write(adding.view("out_ptr"), (50,))
    assert stop is not None
    assert (stop.program, place(stop)[1][:8]) == ((3, 0, 0), "tl.store")
    assert adding.last_write(adding.view("x_ptr"), (50,)) is None


def test_each_of_several_writes_of_one_element() -> None:
    x = np.ones(16, np.float32)
    session = Session(take(kernels.twice, (x,), {"BLOCK": 16}, (1,)))
    session.run()
    found = []
    while (stop := session.last_write(session.view("x_ptr"), (3,))) is not None:
        found.append((float(stop.detail.old), float(stop.detail.new)))
    session.close()
    assert found == [(8, 16), (4, 8), (2, 4), (1, 2)]


def test_the_first_nan_stops_at_its_line_with_its_operands() -> None:
    x, out = np.arange(48, dtype=np.float32), np.zeros(48, np.float32)
    session = Session(take(kernels.logarithm, (x, out, 48), {"BLOCK": 16}, (3,)))
    session.points.events.add("nan")
    stop = session.run()
    assert stop.reason is Reason.BORN
    assert (stop.detail.op, stop.detail.element, stop.detail.operands) == ("log", (0,), (-20.0,))
    assert "y" not in stop.frames[-1].locals
    assert place(session.reverse_step())[1] == "y = tl.log(x - 20)"
    session.close()


def test_a_finding_stops_at_its_line_and_names_the_other_party() -> None:
    x = np.zeros(4, np.float32)
    session = Session(take(kernels.total, (x,), {}, (3,)))
    stop = session.run()
    finding = stop.finding
    assert stop.reason is Reason.FINDING
    assert finding is not None
    assert finding.kind == "race"
    parties = {finding.program, *[p.program for p in finding.related]}
    assert parties == {(0, 0, 0), (1, 0, 0)}
    state = session.grid_state()
    assert state.found.any()
    assert state.partner.any()
    session.close()


def test_instances_that_wait_for_each_other() -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(2, np.float32)
    session = Session(take(kernels.handshake, (flag, out), {}, (2,)))
    stop = session.start((0, 0, 0))
    while stop.reason is not Reason.INSTANCE_END:
        assert stop.program == (0, 0, 0)
        stop = session.next()
    assert session.array("out_ptr").tolist() == [1, 2]
    stop = session.last_write(session.view("out_ptr"), (1,))  # type: ignore[assignment]
    assert stop.program == (1, 0, 0)
    session.close()


def test_an_error_of_the_kernel_stops_where_it_is_raised() -> None:
    x = np.zeros(8, np.float32)
    session = Session(take(kernels.refused, (x,), {}, (1,)))
    stop = session.run()
    assert stop.reason is Reason.EXCEPTION
    assert "i" in stop.frames[-1].locals
    stop = session.cont()
    assert stop.reason is Reason.END
    assert stop.detail is session.error is not None
    session.close()


def test_a_history_without_room_runs_the_launch_again() -> None:
    x = np.ones(1024, np.float32)
    session = Session(take(kernels.twice, (x,), {"BLOCK": 1024}, (1,)), limit=40_000)
    session.run()
    assert session.history.first > 0
    assert session.history.bytes <= 40_000
    stop = session.until_moment(2)
    assert stop.position[0] == 2
    assert session.array("x_ptr")[0] == 1
    session.run()
    while stop.reason is not Reason.BEGIN:
        stop = session.reverse_step()
    assert stop.position[0] == 0
    assert session.array("x_ptr")[0] == 1
    session.close()


def test_expressions_only_look(adding: Session) -> None:
    stop = adding.start((2, 0, 0))
    for _ in range(4):
        stop = adding.step()
    frame = stop.frames[-1]
    assert adding.evaluate("tl.sum(x) + n", frame).handle == np.arange(32, 48).sum() + 100
    with pytest.raises(PermissionError, match="only look"):
        adding.evaluate("tl.store(out_ptr, 1.0)", frame)
    assert not adding.array("out_ptr")[40:].any()


def test_another_order_of_instances() -> None:
    x = np.zeros(64, np.float32)
    session = Session(take(kernels.add, (x, x.copy(), x.copy(), 64), {"BLOCK": 16}, (4,)), seed=1)
    stop = session.start((1, 0, 0))
    assert session.grid_state().done.tolist() == [False, False, True, True]
    assert stop.program == (1, 0, 0)
    session.close()


def test_an_instance_outside_of_the_grid_is_refused(adding: Session) -> None:
    with pytest.raises(ValueError, match="outside of grid"):
        adding.start((7, 0, 0))

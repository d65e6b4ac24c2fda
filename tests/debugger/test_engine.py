"""The engine on kernels that call, wait, fail and never end; what a repeated run finds again."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from blockstep.debugger.moments import Reason, Stop
from blockstep.debugger.session import Session
from blockstep.interp.scheduler import program_order
from blockstep.runtime.ladder.launch import take
from tests.debugger import engine_kernels as kernels
from tests.debugger.kernels import handshake, total

Opened = Any


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens sessions, and looks that they leave no thread."""
    made: list[Session] = []

    def session(kernel: Any, args: Any, grid: Any, meta: Any = None, **told: Any) -> Session:
        made.append(Session(take(kernel, args, meta or {}, grid), **told))
        return made[-1]

    yield session
    for one in made:
        one.close()
    assert not [t for t in threading.enumerate() if t.name == "blockstep kernel"]


def text_of(stop: Stop) -> str:
    frame = stop.frames[-1]
    with open(frame.file, encoding="utf-8") as source:
        return source.read().splitlines()[frame.line - 1].strip()


def line_of(text: str) -> int:
    """The first line of the kernels' file that has the text."""
    with open(kernels.__file__, encoding="utf-8") as source:
        return next(i for i, line in enumerate(source, 1) if text in line)


def test_steps_stay_in_files_of_the_user(opened: Opened) -> None:
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    session = opened(kernels.nested, (x, np.zeros(20, np.float32), 20), (2,), {"BLOCK": 16})
    stop = session.start((1, 0, 0))
    seen = []
    while stop.reason is not Reason.INSTANCE_END:
        assert {f.file for f in stop.frames} == {kernels.__file__}
        seen.append(tuple(f.function for f in stop.frames))
        stop = session.step()
    assert set(seen) == {("nested",), ("nested", "poly"), ("nested", "poly", "square")}


def test_finish_and_reverse_finish_of_inner_calls(opened: Opened) -> None:
    x = np.ones(16, np.float32)
    session = opened(kernels.nested, (x, x.copy(), 16), (1,), {"BLOCK": 16})
    session.points.add(function="square")
    session.run()
    stop = session.finish()
    assert (stop.frames[-1].function, text_of(stop)) == ("poly", "z = square(y)")
    assert float(session.evaluate("y", stop.frames[-1]).handle[0]) == 2
    stop = session.reverse_finish()
    assert (stop.frames[-1].function, text_of(stop)[:12]) == ("nested", "y = poly(x) ")


def test_a_loop_without_end_stops_at_its_line_when_interrupted(opened: Opened) -> None:
    session = opened(kernels.endless, (np.zeros(4, np.int32),), (4,), limit=200_000)
    threading.Timer(0.2, session.interrupt).start()
    stop = session.run()
    assert stop.reason is Reason.INTERRUPT
    assert text_of(stop) in ("while n >= 0:", "n = n + 1 + tl.load(x_ptr + i)")
    assert session.history.bytes <= 200_000


@pytest.mark.parametrize("seed", [0, 2])  # on the grid machine, and one after another
def test_instances_before_the_first_can_be_interrupted(opened: Opened, seed: int) -> None:
    x = np.zeros(4, np.int32)
    session = opened(kernels.endless, (x,), (4,), limit=200_000, judged=False, seed=seed)
    last = (int(program_order(4, seed)[-1]), 0, 0)
    threading.Timer(0.5, session.interrupt).start()
    stop = session.start(last)
    assert stop.reason is Reason.INTERRUPT
    assert stop.program != last
    assert ("n" in stop.frames[-1].locals) == (seed == 2)
    assert session.step().reason is Reason.LINE


def test_closing_ends_a_kernel_that_runs(opened: Opened) -> None:
    x = np.zeros(4, np.int32)
    session = opened(kernels.endless, (x,), (4,), limit=200_000)
    told: list[Stop] = []
    waiting = threading.Thread(target=lambda: told.append(session.run()))
    waiting.start()
    threading.Event().wait(0.2)
    session.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert told[0].reason is Reason.END
    assert not x.any()


def test_a_lock_is_taken_in_turns(opened: Opened) -> None:
    lock, x = np.zeros(1, np.int32), np.zeros(1, np.int32)
    session = opened(kernels.locked, (lock, x), (4,))
    session.points.watch(session.view("x_ptr"), (0,))
    written = []
    stop = session.run()
    while stop.reason is Reason.WATCH:
        written.append((stop.detail.program[0], int(stop.detail.new)))
        stop = session.cont()
    assert written == [(0, 1), (1, 3), (2, 7), (3, 15)]
    assert session.array("lock_ptr")[0] == 0


def test_a_session_can_start_at_an_instance_that_others_wait_for(opened: Opened) -> None:
    session = opened(handshake, (np.zeros(1, np.int32), np.zeros(2, np.float32)), (2,))
    stop = session.start((1, 0, 0))
    assert (stop.program, text_of(stop)) == ((1, 0, 0), "pid = tl.program_id(0)")
    assert session.grid_state().begun.tolist() == [True, True]
    assert session.cont().reason is Reason.END
    assert session.array("out_ptr").tolist() == [1, 2]
    stop = session.last_write(session.view("out_ptr"), (0,))
    assert (stop.program, text_of(stop)) == ((0, 0, 0), "tl.store(out_ptr, 1.0)")


def test_a_race_with_an_instance_before_the_first_is_found(opened: Opened) -> None:
    session = opened(total, (np.zeros(4, np.float32),), (3,))
    session.start((1, 0, 0))
    stop = session.cont()
    assert stop.reason is Reason.FINDING
    assert stop.finding.kind == "race"
    assert {stop.finding.program, stop.finding.related[0].program} == {(0, 0, 0), (1, 0, 0)}


def test_an_assertion_is_a_stop_with_all_names(opened: Opened) -> None:
    x = np.arange(32, dtype=np.float32)
    session = opened(kernels.asserting, (x, x.copy()), (2,), {"BLOCK": 16})
    stop = session.run()
    assert (stop.reason, stop.program, stop.finding.kind) == (Reason.FINDING, (1, 0, 0), "assert")
    assert text_of(stop).startswith("tl.device_assert")
    assert float(session.evaluate("tl.max(x)", stop.frames[-1]).handle) == 31


def test_an_error_before_the_first_instance_stops_there(opened: Opened) -> None:
    from tests.debugger.kernels import refused

    session = opened(refused, (np.zeros(8, np.float32),), (2,))
    stop = session.start((1, 0, 0))
    assert (stop.reason, stop.program) == (Reason.EXCEPTION, (0, 0, 0))


def test_instances_that_wait_for_ever_stop_at_their_line(opened: Opened) -> None:
    session = opened(kernels.waits_for_ever, (np.zeros(2, np.int32),), (2,))
    stop = session.run()
    assert stop.reason is Reason.EXCEPTION
    assert text_of(stop) == "while tl.atomic_add(flag_ptr, 0) == 0:"
    assert session.cont().reason is Reason.END
    assert [f.kind for f in session.findings] == ["deadlock"]


def test_a_condition_knows_the_instance_and_its_memory(opened: Opened) -> None:
    x = np.zeros(3, np.int32)
    session = opened(kernels.counting, (x,), (3,), {"N": 6})
    told = "tl.program_id(0) == 1 and tl.load(x_ptr + i) == 3"
    session.points.add(file=kernels.__file__, line=line_of("old + k") - 1, condition=told)
    stop = session.run()
    assert (stop.program, int(stop.frames[-1].locals["k"].handle)) == ((1, 0, 0), 3)
    assert session.cont().reason is Reason.END
    back = session.reverse_continue()
    assert (back.reason, back.position[0]) == (Reason.BREAKPOINT, stop.position[0])
    assert session.array("x_ptr").tolist() == [15, 3, 0]


def test_names_are_known_inside_of_comprehensions(opened: Opened) -> None:
    session = opened(kernels.counting, (np.zeros(2, np.int32),), (2,), {"N": 2})
    session.start((1, 0, 0))
    frame = session.step().frames[-1]
    assert session.evaluate("[int(i.handle) + N for _ in range(2)]", frame) == [3, 3]


def test_the_last_write_by_an_instance_before_the_record(opened: Opened) -> None:
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    session = opened(kernels.chain, (x, out), (6,), {"BLOCK": 8}, judged=False)
    session.start((4, 0, 0))
    stop = session.last_write(session.view("out_ptr"), (5,))
    assert (stop.reason, stop.program) == (Reason.WATCH, (1, 0, 0))
    assert (float(stop.detail.old), float(stop.detail.new)) == (1, 2)
    assert session.array("out_ptr").tolist() == [1] * 8
    stop = session.last_write(session.view("out_ptr"), (5,))
    assert (stop.program, float(stop.detail.old)) == ((0, 0, 0), 0)
    assert session.last_write(session.view("out_ptr"), (5,)) is None
    assert session.stop.program == (0, 0, 0)


def test_back_to_a_watched_write_before_the_record(opened: Opened) -> None:
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    session = opened(kernels.chain, (x, out), (6,), {"BLOCK": 8}, judged=False)
    session.start((3, 0, 0))
    session.points.watch(session.view("out_ptr"), (0,))
    stop = session.reverse_continue()
    assert (stop.reason, stop.program, text_of(stop)[:8]) == (Reason.WATCH, (1, 0, 0), "tl.store")


def test_an_element_that_nobody_wrote_leaves_the_session_where_it_stood(opened: Opened) -> None:
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    session = opened(kernels.chain, (x, out), (6,), {"BLOCK": 8}, judged=False)
    session.start((3, 0, 0))
    before = session.step()
    assert session.last_write(session.view("x_ptr"), (0,)) is None
    after = session.stop
    assert (after.program, text_of(after)) == (before.program, text_of(before))


def test_the_last_write_that_the_record_forgot(opened: Opened) -> None:
    session = opened(kernels.counting, (np.zeros(2, np.int32),), (2,), {"N": 50}, limit=20_000)
    session.run()
    assert session.history.first > 150
    stop = session.last_write(session.view("x_ptr"), (0,))
    assert (stop.program, int(stop.detail.new)) == ((0, 0, 0), 49 * 25)
    assert int(stop.frames[-1].locals["k"].handle) == 49
    assert session.cont().reason is Reason.END
    assert session.array("x_ptr").tolist() == [1225, 1225]


def test_stepping_back_past_what_is_kept_meets_every_line_once(opened: Opened) -> None:
    session = opened(kernels.counting, (np.zeros(1, np.int32),), (1,), {"N": 40}, limit=20_000)
    session.run()
    ks = []
    stop = session.reverse_step()
    while stop.reason is not Reason.BEGIN:
        if text_of(stop).startswith("old"):
            ks.append(int(stop.frames[-1].locals["k"].handle))
            assert session.array("x_ptr")[0] == sum(range(ks[-1]))
        stop = session.reverse_step()
    assert ks == list(range(40))[::-1]


def test_events_within_lines_do_not_move_what_a_repeated_run_finds(opened: Opened) -> None:
    x = np.zeros(4, np.float32)
    session = opened(total, (x,), (4,), limit=6_000)
    stop = session.run()
    kinds = []
    while stop.reason is not Reason.END:
        kinds.append(stop.reason)
        stop = session.cont()
    assert Reason.FINDING in kinds
    session.points.events.clear()
    lines = []
    while (stop := session.reverse_step()).reason is not Reason.BEGIN:
        lines.append((stop.program[0], text_of(stop)))
    assert (
        lines
        == [
            (p, s)
            for p in (3, 2, 1, 0)
            for s in (
                "tl.store(x_ptr, v + i)",
                "tl.store(x_ptr, v + i)",
                "v = tl.load(x_ptr)",
                "i = tl.program_id(0)",
            )
        ][: len(lines)]
    )


def test_several_launches_one_after_another(opened: Opened) -> None:
    x = np.zeros(2, np.int32)
    for n, wanted in ((3, 3), (4, 9)):
        session = opened(kernels.counting, (x,), (2,), {"N": n})
        session.start((1, 0, 0))
        assert session.cont().reason is Reason.END
        left = session.array("x_ptr")
        session.close()
        kernels.counting[(2,)](x, N=n)
        assert x.tolist() == left.tolist() == [wanted, wanted]


def test_two_runs_of_one_seed_are_the_same(opened: Opened) -> None:
    for seed in (0, 5):
        walks = []
        for _ in range(2):
            session = opened(kernels.locked, (np.zeros(1, np.int32),) * 2, (3,), seed=seed)
            stop, walk = session.start(), []
            while stop.reason is not Reason.END:
                walk.append((stop.program, text_of(stop), stop.reason))
                stop = session.step()
            walks.append(walk)
        assert walks[0] == walks[1]


def test_breakpoint_in_a_kernel_stops_the_session_at_the_next_line(opened: Opened) -> None:
    x = np.zeros(4, np.float32)
    session = opened(kernels.halting, (x,), (4,))
    stop = session.run()
    assert (stop.reason, stop.detail, stop.program) == (Reason.BREAKPOINT, None, (2, 0, 0))
    assert text_of(stop) == "tl.store(x_ptr + i, x + 1)"
    assert session.cont().reason is Reason.END
    assert session.reverse_continue().program == (2, 0, 0)
    assert session.array("x_ptr").tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("late", [False, True])
def test_an_operation_whose_error_passes_the_bound(opened: Opened, late: bool) -> None:
    x = np.full(16, 0.1, np.float32)
    session = opened(kernels.summing, (x, x.copy()), (1,), {"BLOCK": 16})
    session.points.error = None if late else 4.0
    session.start()
    session.next()
    session.points.error = 4.0
    stop = session.cont()
    assert (stop.reason, text_of(stop)) == (Reason.ERROR, "z = (y + 1e6) - 1e6")
    assert (stop.detail.op, stop.detail.program) == ("sub", (0, 0, 0))
    assert stop.detail.ulps > 1000
    assert session.cont().reason is Reason.END
    session.points.error = None
    assert session.reverse_continue().reason is Reason.BEGIN


def test_lines_have_numbers_that_events_do_not_move(opened: Opened) -> None:
    session = opened(total, (np.zeros(4, np.float32),), (4,))
    stop = session.run()
    assert stop.reason is Reason.FINDING
    number, text = session.lines, text_of(stop)
    for there in (20, 1, number):
        stop = session.to_line(there)
        assert session.lines == min(there, 16)
    assert text_of(stop) == text
    assert session.to_line(99).reason is Reason.END


def test_the_history_is_bounded_and_says_what_it_takes(opened: Opened) -> None:
    x = np.ones(4096, np.float32)
    args = (x, x.copy(), 4096)
    session = opened(kernels.nested, args, (1,), {"BLOCK": 4096}, limit=1 << 20)
    session.run()
    history = session.history
    held = {
        id(v): v for m in history.moments for v in m.top.locals.values() if hasattr(v, "handle")
    }
    blocks = sum(v.handle.nbytes for v in held.values())
    assert blocks + history.log.nbytes <= history.bytes <= history.limit
    assert history.first == 0
    small = opened(kernels.nested, args, (1,), {"BLOCK": 4096}, limit=100_000)
    small.run()
    assert small.history.first > 0
    assert len(small.history.moments) >= 8


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to itself")
def test_ctrl_c_while_going_back_stops_there_with_memory_put_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    session = opened(kernels.counting, (np.zeros(1, np.int32),), (1,), {"N": 50})
    session.run()
    monkeypatch.setattr(
        kernels, "press", lambda: os.kill(os.getpid(), signal.SIGINT), raising=False
    )
    session.points.add(
        file=kernels.__file__, line=line_of("old + k") - 1, condition="k == 20 and press()"
    )
    stop = session.reverse_continue()
    assert stop.reason is Reason.INTERRUPT
    assert int(stop.frames[-1].locals["k"].handle) == 20
    assert session.array("x_ptr")[0] == sum(range(20))
    assert session.to_line(3).frames
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_of_a_session_that_stands_changes_nothing(opened: Opened) -> None:
    session = opened(kernels.counting, (np.zeros(1, np.int32),), (1,), {"N": 3})
    session.start()
    session.interrupt()
    assert session.step().reason is Reason.LINE
    assert session.cont().reason is Reason.END

"""Where the variables of a stopped kernel came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.debugger.blame import blame_value
from blockstep.debugger.session import Session
from blockstep.diagnostics.blame import blame_text
from blockstep.runtime.ladder.launch import take
from tests.debugger import blamed_kernels as kernels
from tests.debugger.blaming import check_links, equal
from tests.debugger.test_blame import behind, line_of, only


def stopped(session: Session, kernel: Any, text: str, visits: int = 1) -> Any:
    """The session at a line, for the n-th time."""
    session.points.events.clear()
    first = kernel.fn.__code__.co_filename
    session.points.add(file=first, line=line_of(kernel, text))
    stop = session.run()
    for _ in range(visits - 1):
        stop = session.cont()
    return stop


def test_a_variable_is_followed_from_where_the_kernel_stands() -> None:
    x = np.arange(8, dtype=np.float32)
    args = (x, x.copy(), np.zeros(8, np.float32), 8, 0.5)
    session = Session(take(kernels.chosen, args, {"BLOCK": 4}, (2,)))
    try:
        stop = stopped(session, kernels.chosen, "z = tl.where", 2)
        assert stop.program == (1, 0, 0)
        chain = blame_value(session.launch, stop.program, stop.frames, "y", (2,))
        assert (chain.value, chain.head.op, chain.program) == (3.0, "mul", (1, 0, 0))
        (load,) = behind(chain, "load")
        assert load.place is not None and load.place.index == (6,)
        assert "y[2] = 3, a value of program instance (1, 0, 0)" in blame_text(chain)
        with pytest.raises(LookupError, match="`z` is no value"):
            blame_value(session.launch, stop.program, stop.frames, "z", (2,))
        with pytest.raises(IndexError, match=r"y\[4\] is outside of"):
            blame_value(session.launch, stop.program, stop.frames, "y", (4,))
        assert session.cont().program is None  # nothing of the session was disturbed
    finally:
        session.close()


def test_a_turn_of_a_loop_is_the_one_where_the_kernel_stands() -> None:
    x = np.arange(8, dtype=np.float32)
    launch = take(kernels.carried, (x, np.zeros(2, np.float32), 4), {"BLOCK": 2}, (1,))
    session = Session(launch)
    try:
        stop = stopped(session, kernels.carried, "acc += ", 3)
        chain = blame_value(launch, stop.program, stop.frames, "acc", (1,))
        assert equal(chain.value, np.asarray(stop.frames[-1].locals["acc"].handle)[1])
        assert [link.turns[0].number for link in behind(chain, "load")] == [1, 0]
        turn = blame_value(launch, stop.program, stop.frames, "i", ())
        assert (turn.head.op, turn.value) == ("turn", 2)
        check_links(chain)
    finally:
        session.close()


def test_a_variable_of_a_caller_is_asked_for_by_its_place() -> None:
    x = np.arange(4, dtype=np.float32)
    args = (x, x.copy(), np.zeros(4, np.float32), 4, 0.5)
    session = Session(take(kernels.chosen, args, {"BLOCK": 4}, (1,)))
    try:
        stop = stopped(session, kernels.scaled, "return x * s")
        assert len(stop.frames) == 2
        inner = blame_value(session.launch, stop.program, stop.frames, "x", (1,))
        outer = blame_value(session.launch, stop.program, stop.frames, "offs", (1,), at=0)
        assert inner.head.op == "load" and outer.value == 1
    finally:
        session.close()


def test_memory_that_other_instances_wrote_leads_to_them() -> None:
    launch = take(kernels.relay, (np.array([5, 0, 0, 0], np.int32),), {}, (3,))
    session = Session(launch)
    try:
        stop = stopped(session, kernels.relay, "tl.store", 3)
        chain = blame_value(launch, stop.program, stop.frames, "v", ())
        assert (chain.value, only(chain.head, "memory").program) == (7, (1, 0, 0))
        assert [s.program for s in behind(chain, "store")] == [(1, 0, 0), (0, 0, 0)]
    finally:
        session.close()

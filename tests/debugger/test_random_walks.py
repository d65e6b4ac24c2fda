"""A session that goes back and forth at random finds at every line what a straight run found there."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from blockstep.debugger.moments import Reason, Stop
from blockstep.debugger.session import Session
from blockstep.runtime.ladder.launch import Launch, take
from tests.debugger import engine_kernels, kernels

Seen = tuple[Any, ...]


def adding() -> Launch:
    x = np.arange(40, dtype=np.float32)
    return take(kernels.add, (x, 2 * x, np.zeros(40, np.float32), 40), {"BLOCK": 16}, (3,))


def locked() -> Launch:
    return take(engine_kernels.locked, (np.zeros(1, np.int32), np.zeros(1, np.int32)), {}, (4,))


def waiting() -> Launch:
    return take(kernels.handshake, (np.zeros(1, np.int32), np.zeros(2, np.float32)), {}, (2,))


def nested() -> Launch:
    x = np.linspace(0, 1, 20, dtype=np.float32)
    return take(engine_kernels.nested, (x, x.copy(), 20), {"BLOCK": 16}, (2,))


def racing() -> Launch:
    return take(kernels.total, (np.zeros(4, np.float32),), {}, (4,))


def scattering() -> Launch:
    return take(engine_kernels.scattering, (np.ones(5000, np.int32),), {"BLOCK": 4}, (2,))


LAUNCHES = [adding, locked, waiting, nested, racing, scattering]


def seen_at(session: Session, stop: Stop) -> Seen:
    """Everything that a person could see at a line."""
    calls = tuple(
        (f.function, f.line, tuple((k, repr(v)) for k, v in f.locals.items())) for f in stop.frames
    )
    memory = tuple(session.array(v.name).tobytes() for v in session.views)
    return stop.program, calls, memory


def straight(launch: Launch, seed: int) -> dict[int, Seen]:
    """What there is to see at each line of a run, by its number."""
    session = Session(launch, seed)
    session.points.events.clear()
    stop, found = session.start(), {}
    while stop.reason is not Reason.END:
        found[session.lines] = seen_at(session, stop)
        stop = session.to_line(session.lines + 1)
    session.close()
    return found


def anywhere(session: Session, draw: random.Random, last: int) -> Stop | None:
    """One move."""
    view = draw.choice(session.views)
    index = tuple(draw.randrange(min(n, 3)) for n in view.shape)
    moves = [
        session.step, session.next, session.finish, session.until, session.cont, session.reverse_step,
        session.reverse_step, session.reverse_next, session.reverse_finish, session.reverse_continue,
        lambda: session.to_line(draw.randint(1, last)), lambda: session.last_write(view, index),
    ]  # fmt: skip
    return draw.choice(moves)()


@pytest.mark.parametrize("limit", [3_000, 1 << 20])
@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda made: made.__name__)
def test_every_line_looks_the_same_however_it_was_reached(launch: Any, limit: int) -> None:
    for seed in (0, 3):
        lines = straight(launch(), seed)
        session = Session(launch(), seed, limit=limit)
        session.start()
        draw = random.Random(seed)
        for _ in range(60):
            if draw.random() < 0.1:
                session.points.events ^= {draw.choice(["finding", "nan"])}
            anywhere(session, draw, len(lines))
            stop = session.stop
            assert stop is not None
            if stop.frames and stop.reason not in (Reason.FINDING, Reason.BORN, Reason.WATCH):
                assert seen_at(session, stop) == lines[session.lines]
            elif not stop.frames:
                assert session.lines == len(lines)
        session.close()

"""From the last write of an element back to where its value came from: which instances have to be
written down is found out on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from blockstep.debugger.blame.running import run
from blockstep.findings.blame import Chain
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.slice import Slice
from blockstep.interp.blame.tape import Gone, Tape
from blockstep.interp.scheduler import Program

if TYPE_CHECKING:
    from blockstep.debugger.blame.asking import Asked

MOST_INSTANCES = 8  # whose operations are written down
MOST_WINDOWS = 8  # how often an instance runs again for values that were let go of


def followed(asked: Asked) -> Chain:
    """The chain behind an element. Memory is as before the launch, and is left in any state."""
    recorded: list[Program] = []
    while True:
        log, tapes, error = _written_down(asked, recorded)
        chain, wanted = _chain(asked, log, tapes)
        more = [p for p in wanted if p not in recorded]
        if not more or len(recorded) >= MOST_INSTANCES:
            return replace(chain, error=error)
        assert log.watched is not None
        for program in (*more, *reversed(log.watched.writers)):
            if program not in recorded and len(recorded) < MOST_INSTANCES:
                recorded.append(program)


def _written_down(
    asked: Asked, recorded: list[Program], window: tuple[Program, int] | None = None
) -> tuple[WriteLog, dict[Program, Tape], str]:
    """A run from the beginning, and in what it ended. With a window only one instance is written down, up to an operation,
    and nothing runs after it."""
    launch, programs = asked.launch, asked.programs
    launch.memory.restore()
    log = WriteLog(asked.watched())
    log.partial = asked.last_ones(MOST_INSTANCES)
    if window is None:
        tapes = {p: Tape(p) for p in recorded}
    else:
        tapes = {window[0]: Tape(window[0], window[1])}
    log.wanted = dict(tapes)
    if log.partial and programs is not None:
        programs = programs[-MOST_INSTANCES:]
    return log, tapes, run(launch, log, asked.seed, programs)


def _chain(asked: Asked, log: WriteLog, tapes: dict[Program, Tape]) -> tuple[Chain, list[Program]]:
    """The chain as far as it was written down, and which instances it would go on in."""
    assert log.watched is not None
    value = log.watched.value()
    target, windows = asked.target, 0
    event = log.last(target.storage, target.address, target.view.itemsize)
    while True:
        slicing = Slice(log, tapes, asked.launch.bound.space, windows == MOST_WINDOWS)
        head = slicing.memory(
            target.storage, target.address, event, value, target.view.dtype, target.view
        )
        try:
            return slicing.chain(target.name, target.index, head), slicing.wanted
        except Gone as gone:
            windows += 1
            _, again, _ = _written_down(asked, [], (gone.program, gone.number + 1))
            tapes[gone.program].fill(again[gone.program])


__all__ = ["MOST_INSTANCES", "MOST_WINDOWS", "followed"]

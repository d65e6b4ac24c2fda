"""From a value back to where it came from: which instances have to be written down is found out on the
way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from blockstep.findings.blame import Chain
from blockstep.interp.blame.drafts import Draft
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.slice import Slice
from blockstep.interp.blame.tape import Gone, Tape
from blockstep.interp.scheduler import Program
from blockstep.runtime.ladder.launch import Launch

MOST_INSTANCES = 8  # whose operations are written down
MOST_WINDOWS = 8  # how often an instance runs again for values that were let go of


class Question(Protocol):
    """What is asked about, and how to run the launch for it."""

    @property
    def launch(self) -> Launch: ...

    @property
    def name(self) -> str: ...

    @property
    def index(self) -> tuple[int, ...]: ...

    def run(self, tapes: dict[Program, Tape]) -> tuple[WriteLog, str]:
        """A run from the beginning that fills the tapes; in what it ended."""

    def head(self, slicing: Slice) -> Draft:
        """Where the chain of the last run that had no window begins."""

    def first(self, log: WriteLog) -> Sequence[Program]:
        """Instances that the chain is likely to go through."""


def followed(question: Question, recorded: list[Program]) -> Chain:
    """The chain behind a value; `recorded` are instances that it surely goes through. Memory is as
    before the launch, and is left in any state."""
    while True:
        tapes = {p: Tape(p) for p in recorded}
        log, error = question.run(tapes)
        chain, wanted = _chain(question, log, tapes)
        more = [p for p in wanted if p not in recorded]
        if not more or len(recorded) >= MOST_INSTANCES:
            return replace(chain, error=error)
        for program in (*more, *question.first(log)):
            if program not in recorded and len(recorded) < MOST_INSTANCES:
                recorded.append(program)


def _chain(
    question: Question, log: WriteLog, tapes: dict[Program, Tape]
) -> tuple[Chain, list[Program]]:
    """The chain as far as it was written down, and which instances it would go on in."""
    windows, space = 0, question.launch.bound.space
    while True:
        slicing = Slice(log, tapes, space, windows == MOST_WINDOWS)
        try:
            head = question.head(slicing)
            return slicing.chain(question.name, question.index, head), slicing.wanted
        except Gone as gone:
            windows += 1
            again = Tape(gone.program, gone.number + 1)
            question.run({gone.program: again})
            tapes[gone.program].fill(again)


__all__ = ["MOST_INSTANCES", "MOST_WINDOWS", "Question", "followed"]

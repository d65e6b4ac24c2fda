"""Climbs: runs one launch on one rung after another until one differs from the first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from blockstep.errors import TritonError
from blockstep.findings import Finding
from blockstep.runtime.ladder.compiling import Made, PassFailed, made_for
from blockstep.runtime.ladder.judging import judged
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import Step
from blockstep.runtime.ladder.memory import Image
from blockstep.runtime.ladder.outcome import Climb, Outcome, Status
from blockstep.runtime.ladder.reporting import doubt_of, finding_of
from blockstep.runtime.ladder.rung import Broken, NotRun, Ran, Rule, Rung
from blockstep.runtime.ladder.rungs import SameIR, rungs_of
from blockstep.runtime.ladder.source import errors_of, promises, reach_is_decided, touched_of
from blockstep.runtime.ladder.touched import Beyond, Touched, beyond

FAULTY = "the source has an error"


def climb(
    launch: Launch, more: Iterable[Rung] = (), made: Made | None = None, explains: bool = True,
    ours: bool = True,
) -> Climb:  # fmt: skip
    """Every rung of a launch, then `more`; without `ours`, those of our compiler and of the device
    are left out. Memory is afterwards as it was before. Unless it `explains`, nobody looks for who
    is to blame, and there are no findings.

    The first rung that runs is what the others are held to; after one that differs none is run."""
    started = time.perf_counter()
    climbing = _Climbing(launch, made or made_for(launch), explains)
    try:
        for rung in climbing.rungs(more, ours):
            if not climbing.take(rung):
                break
    finally:
        launch.memory.restore()
    seconds = time.perf_counter() - started
    return Climb(
        launch.kernel, launch.grid, climbing.outcomes, climbing.findings, launch.number, seconds
    )


@dataclass(slots=True, eq=False)
class _Climbing:
    """What is known so far. `wanted` is what the first rung that ran left, `source` what the source
    touches."""

    launch: Launch
    made: Made
    explains: bool = True
    wanted: Image | None = None
    source: Touched | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def rungs(self, more: Iterable[Rung], ours: bool) -> Iterator[Rung]:
        """In order."""
        yield from rungs_of(self.launch, self.made) if ours else (Step(),)
        yield from more

    def take(self, rung: Rung) -> bool:
        """Runs one rung; whether the next is to be run."""
        started = time.perf_counter()
        outcome = self._broken_promise(rung) or self._unless_faulty(self._run(rung))
        outcome = replace(outcome, seconds=time.perf_counter() - started)
        self.outcomes.append(outcome)
        if outcome.status is Status.DIFFERS:
            if not self.explains:
                return False
            self.findings.append(
                finding_of(self.launch, outcome, self.made, self.wanted, self.agrees)
            )
            return False
        if outcome.status is Status.UNDECIDED:
            self.findings.append(doubt_of(self.launch, outcome))
        silent = self.wanted is None and rung.name == "step"  # the kernel itself does not run
        return not silent and not outcome.text.startswith(FAULTY)

    def agrees(self, rung: Rung) -> bool:
        """Whether a rung that is run for the sake of another does. Memory is put back."""
        try:
            return self._run(rung).status.passed
        except (PassFailed, TritonError):
            return False
        finally:
            self.launch.memory.restore()

    def _run(self, rung: Rung) -> Outcome:
        launch = self.launch
        try:
            ran = rung.run(launch)
        except SameIR:
            return self._like_before(rung)
        except NotRun as reason:
            launch.memory.restore()
            return Outcome(rung.name, Status.NOT_RUN, str(reason))
        except Broken as broken:
            launch.memory.restore()
            return Outcome(rung.name, Status.DIFFERS, faults=(broken.fault,))
        if self.wanted is None:
            self.wanted = launch.memory.image()
            launch.memory.restore()
            return Outcome(rung.name, Status.EQUAL)
        outcome = judged(launch, rung, self.wanted)
        return self._with_what_was_seen(rung, outcome, ran)

    def _with_what_was_seen(self, rung: Rung, outcome: Outcome, ran: Ran) -> Outcome:
        """Faults of a machine, and memory that the source does not touch, make a rung differ."""
        extra: list[Beyond] = []
        if rung.rule is Rule.BITS:
            self.source = self.source or ran.touched
        elif ran.touched is not None:
            if self.source is None:
                self.source = touched_of(self.launch)
            found = beyond(self.source, ran.touched, self.launch.memory.known)
            if found and reach_is_decided(self.launch, rung.rule is Rule.EXACT):
                extra = [self._placed(rung, x) for x in found]
        differs = outcome.status is Status.DIFFERS
        faults = tuple(f for f in ran.faults if differs or not f.harmless)
        if not extra and not faults:
            return outcome
        return replace(outcome, status=Status.DIFFERS, faults=faults, beyond=tuple(extra))

    def _placed(self, rung: Rung, extra: Beyond) -> Beyond:
        """With the line of compiled code that goes there, if the rung can tell."""
        place_of = getattr(rung, "place_of", None)
        if place_of is None:
            return extra
        address = extra.storage.base + int(extra.offsets[0])
        return replace(extra, place=place_of(self.launch, address, extra.writes))

    def _broken_promise(self, rung: Rung) -> Outcome | None:
        """Code that was compiled by a false `tl.assume` may do anything, and may never end: the
        promises of the source are looked at before it runs."""
        if rung.rule is Rule.BITS or not promises(self.launch.made):
            return None
        outcome = self._unless_faulty(Outcome(rung.name, Status.DIFFERS))
        return None if outcome.status is Status.DIFFERS else outcome

    def _unless_faulty(self, outcome: Outcome) -> Outcome:
        """A difference says nothing of the compiler where the source means nothing."""
        if outcome.status is not Status.DIFFERS:
            return outcome
        errors = errors_of(self.launch)
        if not errors:
            return outcome
        first = errors[0]
        text = f"{FAULTY} (`blockstep check`): {first.kind}: {first.message}"
        return replace(outcome, status=Status.UNJUDGED, text=text)

    def _like_before(self, rung: Rung) -> Outcome:
        """A rung whose IR is that of the one before."""
        last = next((o for o in reversed(self.outcomes) if o.status is not Status.SAME), None)
        if last is None or last.status is not Status.EQUAL:
            return Outcome(rung.name, Status.NOT_RUN if last is None else last.status, "same IR")
        return Outcome(rung.name, Status.SAME)


__all__ = ["climb"]

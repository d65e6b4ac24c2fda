"""Climbs: runs one launch on one rung after another until one differs from the first."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from blockstep.findings import Finding
from blockstep.runtime.ladder.compiling import Made, made_for
from blockstep.runtime.ladder.judging import judged
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.memory import Image
from blockstep.runtime.ladder.outcome import Climb, Outcome, Status
from blockstep.runtime.ladder.reporting import doubt_of, finding_of
from blockstep.runtime.ladder.rung import Broken, NotRun, Rung
from blockstep.runtime.ladder.rungs import SameIR, rungs_of
from blockstep.runtime.ladder.source import errors_of


def climb(launch: Launch, more: Iterable[Rung] = (), made: Made | None = None) -> Climb:
    """Every rung of a launch, then `more`. Memory is afterwards as it was before.

    The first rung that runs is what the others are held to; after one that differs none is run."""
    started = time.perf_counter()
    compiled = made or made_for(launch)
    outcomes: list[Outcome] = []
    wanted: Image | None = None
    findings: list[Finding] = []
    try:
        for rung in _all(launch, compiled, more):
            outcome, left = _run(launch, rung, wanted, outcomes)
            wanted = wanted if left is None else left
            if outcome.status is Status.DIFFERS:
                outcome = _unless_faulty(launch, outcome)
            outcomes.append(outcome)
            if outcome.status is Status.DIFFERS:
                findings.append(finding_of(launch, outcome, outcomes, compiled, wanted))
            elif outcome.status is Status.UNDECIDED:
                findings.append(doubt_of(launch, outcome))
            if outcome.status is Status.DIFFERS or outcome.text.startswith(FAULTY):
                break
            if wanted is None and rung.name == "step":
                break  # the kernel itself does not run
    finally:
        launch.memory.restore()
    seconds = time.perf_counter() - started
    return Climb(launch.kernel, launch.grid, outcomes, findings, launch.number, seconds)


FAULTY = "the source has an error"


def _unless_faulty(launch: Launch, outcome: Outcome) -> Outcome:
    """A difference says nothing of the compiler where the source means nothing."""
    errors = errors_of(launch)
    if not errors:
        return outcome
    first = errors[0]
    text = f"{FAULTY} (`blockstep check`): {first.kind}: {first.message}"
    return replace(outcome, status=Status.UNJUDGED, text=text)


def _all(launch: Launch, made: Made, more: Iterable[Rung]) -> Iterable[Rung]:
    yield from rungs_of(launch, made)
    yield from more


def _run(
    launch: Launch, rung: Rung, wanted: Image | None, before: list[Outcome]
) -> tuple[Outcome, Image | None]:
    """The outcome; of the first rung that runs also what it left."""
    started = time.perf_counter()
    try:
        ran = rung.run(launch)
    except SameIR:
        return _like(rung, before), None
    except NotRun as reason:
        launch.memory.restore()
        return Outcome(rung.name, Status.NOT_RUN, str(reason)), None
    except Broken as broken:
        launch.memory.restore()
        return Outcome(rung.name, Status.DIFFERS, fault=broken.fault), None
    left = None
    if wanted is None:
        left = launch.memory.image()
        launch.memory.restore()
        outcome = Outcome(rung.name, Status.EQUAL)
    else:
        outcome = judged(launch, rung, wanted)
    if ran.faults and outcome.status is not Status.DIFFERS:
        outcome = Outcome(rung.name, Status.DIFFERS, fault=ran.faults[0])
    return replace(outcome, seconds=time.perf_counter() - started), left


def _like(rung: Rung, before: list[Outcome]) -> Outcome:
    """A rung whose IR is that of the one before."""
    last: Any = next((o for o in reversed(before) if o.status is not Status.SAME), None)
    if last is None or last.status is not Status.EQUAL:
        return Outcome(rung.name, Status.NOT_RUN if last is None else last.status, "same IR")
    return Outcome(rung.name, Status.SAME)


__all__ = ["climb"]

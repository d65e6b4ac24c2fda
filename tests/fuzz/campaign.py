"""Runs fuzzed kernels one after another and keeps what it finds.

A case is a function of its number: a campaign goes on where its state file says.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

import blockstep
from blockstep.compiler import passes
from blockstep.ir import Function, verify
from blockstep.runtime import gridded
from tests.agreement.agree import Disagreement, Empty, Outcome, compare, copies, small_batches
from tests.fuzz.case import Case, loaded
from tests.fuzz.generate import generate
from tests.fuzz.shrink import shrink

REFUSED = frozenset({"CompilationError", "LanguageError", "CompileTimeAssertionFailure"})
SECONDS = 6  # for one case while it is shrunk
FOUND = Path(__file__).parent / "found"


@contextlib.contextmanager
def after_passes(count: int) -> Iterator[None]:
    """The grid machine runs block IR to which only the first `count` passes were applied."""

    def run(function: Function) -> None:
        for one, _ in passes.PIPELINE[:count]:
            passes.apply(one, function)
        verify(function)

    with patch.object(gridded, "passes", SimpleNamespace(run=run)):
        yield


def run(case: Case, with_passes: bool = False) -> Outcome:
    """Runs a case on every machine, and after every pass if asked. Raises Disagreement."""
    found = case.run()
    kind = found.error.partition(":")[0]
    if kind and kind not in REFUSED:
        raise Disagreement(f"crash {kind}", found.error)
    if not found.findings and not kind and not case.seed:
        run_unjudged(case, found)
    if with_passes and found.on_grid:
        for count in range(len(passes.PIPELINE)):  # after all of them: that was `case.run()`
            with after_passes(count):
                try:
                    case.run()
                except Disagreement as error:
                    text = f"{error.kind} after {count} passes"
                    raise Disagreement(text, f"{error}") from None
    return found


def run_unjudged(case: Case, judged: Outcome) -> None:
    """A clean launch gives the same bits when nobody looks. Raises Disagreement."""
    names = loaded(case.script())
    try:
        given = copies(names["arguments"]())
        with blockstep.machine("grid"), small_batches(case.batch):  # with program ids in order
            names["kernel"][case.grid](*given)
    finally:
        names["__forget__"]()
    outputs = tuple([a for a in given if isinstance(a, np.ndarray)])
    empty = [isinstance(a, Empty) for a in names["arguments"]() if not isinstance(a, int)]
    kept = [i for i, is_empty in enumerate(empty) if not is_empty]
    one, other = (
        replace(judged, outputs=tuple(o[i] for i in kept)) for o in (judged.outputs, outputs)
    )
    try:
        compare(one, other)
    except Disagreement as error:
        raise Disagreement(f"{error.kind}, unjudged", f"{error}") from None


def failure(case: Case, with_passes: bool = False) -> str:
    """In what the machines differ: "" if they agree, or if the case cannot be run."""
    try:
        with at_most(SECONDS):
            run(case, with_passes)
    except Disagreement as error:
        return error.kind
    except (Exception, TooLong):  # noqa: BLE001  (a shrunk script may be no script at all)
        return ""
    return ""


class TooLong(BaseException):
    """No `except` of a kernel's machine keeps it."""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what takes longer: a shrunk loop may have lost its step. (POSIX; else no limit.)"""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass(slots=True)
class Campaign:
    """What came of the cases so far."""

    done: int = 0
    with_passes: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)  # number of the case: what differed

    @classmethod
    def resumed(cls, state: Path | None, with_passes: bool) -> Campaign:
        """Goes on from a state file, if there is one."""
        if state is None or not state.exists():
            return cls(with_passes=with_passes)
        kept = json.loads(state.read_text())
        return cls(kept["done"], with_passes, Counter(kept["counts"]), kept["failures"])

    def save(self, state: Path) -> None:
        """Writes the state file."""
        kept = {"done": self.done, "counts": self.counts, "failures": self.failures}
        state.write_text(json.dumps(kept, indent=1) + "\n")

    def case(self, number: int) -> None:
        """Runs one case; a failing one is shrunk and kept as a script."""
        case = generate(Random(number))
        try:
            with at_most(10 * SECONDS):
                found = run(case, self.with_passes)
        except TooLong:
            self.counts["too long"] += 1
        except Disagreement as error:
            self.counts["disagree"] += 1
            self.failures[str(number)] = error.kind
            keep(case, number, error.kind, self.with_passes)
        else:
            self.counts["on grid" if found.on_grid else "on step"] += 1
            self.counts["with findings"] += bool(found.findings)
            self.counts["with an error"] += bool(found.error)
        self.done = number + 1

    def go(self, cases: int, state: Path | None, seconds: float = float("inf")) -> None:
        """Runs up to that many cases in all."""
        end = time.monotonic() + seconds
        while self.done < cases and time.monotonic() < end:
            self.case(self.done)
            if state is not None and (self.done % 20 == 0 or self.done == cases):
                self.save(state)


def keep(case: Case, number: int, kind: str, with_passes: bool) -> Path:
    """Shrinks a failing case and puts the script beside those of before."""
    small = shrink(case, lambda c: failure(c, with_passes) == kind)
    path = FOUND / f"case_{number}.py"
    path.write_text(small.script(f"Found by the fuzzer (case {number}): {kind}."))
    return path

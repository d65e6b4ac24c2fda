"""A campaign of fuzzed kernels up the ladder, in several processes, resumable.

Every finding is written as a script at once, as it was generated; when all cases have run, one of
each symptom is shrunk. The state file is the summary too: what has been done, the counts, the
reasons, the findings.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blockstep import target
from tests.fuzz.campaign import TooLong, at_most
from tests.fuzz.climbing import FINDINGS, Verdict, case_of, climbed, symptom, verdict
from tests.fuzz.pool import Lost, results
from tests.fuzz.shrink import shrink

SECONDS = 60.0  # for one case
SAVE = 5.0  # between two writes of the state file
TOOLS = ("numpy", "ml_dtypes", "llvmlite", "cuda-bindings")


@dataclass(slots=True)
class State:
    """What came of the cases so far: all below `done` and those in `ahead` have run."""

    first: int = 0
    done: int = 0
    ahead: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    rungs: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    examples: dict[str, int] = field(default_factory=dict)  # a case of each reason
    core_seconds: float = 0.0
    wall_seconds: float = 0.0
    begun: str = ""

    @classmethod
    def resumed(cls, path: Path | None, first: int) -> State:
        """Goes on from a state file, if there is one."""
        if path is None or not path.exists():
            return cls(first, first, begun=_now())
        kept = json.loads(path.read_text())
        reasons = {name: Counter(of) for name, of in kept["reasons"].items()}
        return cls(
            kept["first"], kept["done"], set(kept["ahead"]), Counter(kept["counts"]),
            Counter(kept["rungs"]), reasons, kept["findings"], kept["examples"],
            kept["core_seconds"], kept["wall_seconds"], kept["begun"],
        )  # fmt: skip

    @property
    def kernels(self) -> int:
        """How many cases have run."""
        return self.done - self.first + len(self.ahead)

    def add(self, number: int, found: Verdict) -> None:
        """Counts one case."""
        self.ahead.add(number)
        while self.done in self.ahead:
            self.ahead.remove(self.done)
            self.done += 1
        self.counts[found.name] += 1
        self.core_seconds += found.seconds
        self.rungs.update(found.rungs)
        if found.reason:
            self.reasons.setdefault(found.name, Counter())[found.reason] += 1
            self.examples.setdefault(f"{found.name}: {found.reason}", number)

    def as_json(self) -> dict[str, Any]:
        """The state file."""
        return {
            "begun": self.begun, "written": _now(), "versions": _versions(),
            "target": target.current().name, "first": self.first, "done": self.done,
            "ahead": sorted(self.ahead), "kernels": self.kernels, "counts": dict(self.counts),
            "reasons": {name: dict(of.most_common()) for name, of in self.reasons.items()},
            "rungs": dict(sorted(self.rungs.items())), "core_seconds": round(self.core_seconds, 1),
            "wall_seconds": round(self.wall_seconds, 1), "findings": self.findings,
            "examples": self.examples,
        }  # fmt: skip

    def save(self, path: Path) -> None:
        """Writes the state file: whole or not at all."""
        unfinished = path.with_suffix(".writing")
        unfinished.write_text(json.dumps(self.as_json(), indent=1) + "\n")
        os.replace(unfinished, path)


@dataclass(slots=True)
class Campaign:
    """Where things go, and how long they may take. `folder` takes the scripts."""

    state: State
    path: Path | None
    folder: Path
    jobs: int = 1
    case_seconds: float = SECONDS
    shrink_seconds: float = 40.0

    def go(self, cases: int, seconds: float = float("inf")) -> None:
        """Runs the cases up to a number, or for so long; shrinks what it finds in the time left."""
        started = time.monotonic()
        end, told, before = started + seconds, started, self.state.wall_seconds
        with contextlib.closing(
            results(_run, self._tasks(cases), self.jobs, self.case_seconds, end, _spent)
        ) as found:
            for number, result in found:
                self.take(number, _verdict_of(result, self.case_seconds))
                now = time.monotonic()
                self.state.wall_seconds = before + now - started
                if now - told > SAVE:
                    told = now
                    self.tell(cases, now - started)
        self.shrink(end)
        self.state.wall_seconds = before + time.monotonic() - started
        self.tell(cases, time.monotonic() - started)

    def _tasks(self, cases: int) -> Iterator[int]:
        done = set(self.state.ahead)
        return (n for n in range(self.state.done, self.state.first + cases) if n not in done)

    def tell(self, cases: int, seconds: float) -> None:
        """A line of progress; the state file is written."""
        if self.path is not None:
            self.state.save(self.path)
        state = self.state
        counts = ", ".join(f"{n} {name}" for name, n in state.counts.most_common())
        each = state.core_seconds / max(state.kernels, 1)
        line = f"{state.kernels}/{cases} kernels, {seconds:.0f} s, {each:.2f} core-s each: {counts}"
        print(line, file=sys.stderr, flush=True)

    def take(self, number: int, found: Verdict) -> None:
        """Counts a case; a finding becomes a script."""
        self.state.add(number, found)
        if found.name not in FINDINGS:
            return
        script = self.write(number, f"{found.name} ({found.reason})", case_of(number))
        self.state.findings.append(
            {"number": number, "verdict": found.name, "symptom": found.reason,
             "text": found.text[:2000], "script": script.name}
        )  # fmt: skip
        print(f"case {number} {found.name}: {found.reason}", file=sys.stderr, flush=True)

    def write(self, number: int, what: str, case: Any) -> Path:
        """The script of a case."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"case_{number}.py"
        path.write_text(case.script(f"Found by the fuzzer (case {number}): {what}."))
        return path

    def shrink(self, end: float) -> None:
        """Makes the script of one finding of each symptom smaller, side by side."""
        chosen = {f["symptom"]: f for f in reversed(self.state.findings)
                  if f["verdict"] == "disagrees" and not f.get("shrunk")}  # fmt: skip
        seconds = min(self.shrink_seconds, end - time.monotonic())
        if not chosen or seconds < 1:
            return
        tasks = iter([(f["number"], f["symptom"], seconds) for f in chosen.values()])
        jobs = min(self.jobs, len(chosen))
        for task, small in results(_shrunk, tasks, jobs, 2 * seconds + SECONDS, end):
            if not isinstance(small, Lost):
                self.write(task[0], task[1], small)
                chosen[task[1]]["shrunk"] = True


def _run(number: int) -> Verdict:
    return verdict(case_of(number))


def _spent(found: Verdict) -> bool:
    """After a fault on the device a process can launch nothing there any more."""
    return found.reason.startswith("gpu:")


def _verdict_of(result: Any, seconds: float) -> Verdict:
    if not isinstance(result, Lost):
        assert isinstance(result, Verdict)
        return result
    if result.too_long:
        return Verdict("too long", f"more than {seconds:.0f} s", seconds=seconds)
    return Verdict("killed", result.text)


def _shrunk(task: tuple[int, str, float]) -> Any:
    number, wanted, seconds = task

    def fails(case: Any) -> bool:
        try:
            with at_most(6):
                return symptom(climbed(case)) == wanted
        except (Exception, TooLong):  # noqa: BLE001  (a shrunk script may be no script at all)
            return False

    return shrink(case_of(number), fails, seconds)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in TOOLS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


__all__ = ["Campaign", "State"]

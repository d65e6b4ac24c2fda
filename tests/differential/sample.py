"""What the differential suite runs: a sample by a seed, or everything.

The seed is the week's, printed, or that of `--ladder-seed N` (or BLOCKSTEP_LADDER_SEED): what two
people run in one week is the same, so that a change can be told from a draw. What is drawn for one test depends on the seed and on the
test's own key alone, so a test that failed fails alone, too. `--ladder-all` leaves nothing out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar

import pytest

SEED, EVERYTHING = "BLOCKSTEP_LADDER_SEED", "BLOCKSTEP_LADDER_ALL"
ARCHITECTURES = ("sm80", "sm90")
WARPS = (1, 2, 4, 8)
STAGES = (1, 2, 3, 4)
COUNTS = "ladder counts"  # a property of a test's report: it travels from xdist's workers

One = TypeVar("One")


@dataclass(frozen=True, slots=True)
class Sample:
    """The draws of one run."""

    seed: int
    everything: bool = False

    def random(self, key: str) -> Random:
        """Numbers for one test."""
        return Random(f"{self.seed} {key}")

    def options(self, key: str) -> dict[str, Any]:
        """Launch options for one test."""
        random = self.random(f"options {key}")
        return {
            "arch": random.choice(ARCHITECTURES), "num_warps": random.choice(WARPS),
            "num_stages": random.choice(STAGES),
        }  # fmt: skip

    def chosen(self, items: Sequence[One], count: int, key: str) -> list[One]:
        """So many of these, in their order; all of them where nothing is left out."""
        if self.everything or count >= len(items):
            return list(items)
        places = sorted(self.random(key).sample(range(len(items)), count))
        return [items[place] for place in places]

    def numbers(self, count: int, of_all: int, key: str) -> list[int]:
        """Numbers of draws that any run may have: `of_all` of them where nothing is left out."""
        if self.everything:
            return list(range(of_all))
        return sorted(self.random(key).sample(range(1 << 30), count))


def configure(config: pytest.Config) -> None:
    """Sets the seed; the environment takes it to the workers of xdist."""
    told = config.getoption("--ladder-seed")
    if told is not None:
        os.environ[SEED] = str(told)
    year, week, _ = datetime.now(UTC).isocalendar()
    os.environ.setdefault(SEED, str(100 * year + week))
    if config.getoption("--ladder-all"):
        os.environ[EVERYTHING] = "1"


def current() -> Sample:
    """The sample of this run."""
    return Sample(int(os.environ[SEED]), os.environ.get(EVERYTHING) == "1")


def summary(reports: list[Any]) -> str:
    """The line of a run; empty where nothing climbed."""
    total: Counter[str] = Counter()
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == COUNTS and report.when == "teardown":
                total.update(value)
    if not total:
        return ""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(total.items()))
    return f"the ladder: {total.total()} launches, {counts}; --ladder-seed {current().seed}"


__all__ = [
    "ARCHITECTURES",
    "COUNTS",
    "STAGES",
    "WARPS",
    "Sample",
    "configure",
    "current",
    "summary",
]

"""Every knob of a run, in one frozen dataclass. The command line, `check()` and the environment
all make one of these."""

from __future__ import annotations

import os
from dataclasses import dataclass

Program = tuple[int, int, int]

MACHINES = ("grid", "step")


@dataclass(frozen=True, slots=True)
class Options:
    """How launches run and what is judged."""

    machine: str = "grid"
    """Which machine runs a launch: "grid" (many program instances at once, the step machine where
    that cannot be) or "step" (one after another)."""

    judged: bool = False
    """Whether checkers look at the launches."""

    seed: int = 0
    """The order of program instances and atomics; 0 is program ids in order."""

    seeds: int = 1
    """How many orders are tried, from `seed` on; outputs that differ are reported."""

    programs: tuple[Program, ...] | None = None
    """Only these program instances run (None: all)."""

    only: frozenset[str] | None = None
    """Checkers or kinds that are judged (None: all but `precision`)."""

    skip: frozenset[str] = frozenset()
    """Checkers or kinds that are not judged."""

    precision: bool = False
    """Whether NaN is followed from where it is born to where it reaches memory or decides
    something: no bug by itself, so only where it is asked for."""

    kernel: str | None = None
    """Only launches of this kernel are judged."""

    launches: tuple[int, int | None] | None = None
    """Only launches with these numbers (first, last; from 1) are judged."""

    max_findings: int | None = None
    """Findings past this many are counted, not kept."""

    fail_on: str = "error"
    """The least severity that makes the exit status 1."""

    progress: bool = False
    """Whether a long launch shows how far it is, on a terminal."""


def machine_from_environment() -> str:
    """`BLOCKSTEP_MACHINE`, or "grid". Raises ValueError for an unknown machine."""
    name = os.environ.get("BLOCKSTEP_MACHINE", "grid")
    if name not in MACHINES:
        raise ValueError(f"BLOCKSTEP_MACHINE={name!r}: the machines are {', '.join(MACHINES)}")
    return name


def parse_program(text: str) -> Program:
    """`X,Y,Z` (Y and Z may be left out) as a program instance. Raises ValueError otherwise."""
    parts = [part.strip() for part in text.strip(" ()").split(",")]
    if not 1 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"a program instance is X,Y,Z, not {text!r}")
    numbers = [int(p) for p in parts] + [0, 0]
    return (numbers[0], numbers[1], numbers[2])


def parse_programs(text: str) -> tuple[Program, ...]:
    """`X,Y,Z;X,Y,Z` as program instances."""
    return tuple(parse_program(part) for part in text.split(";") if part.strip())

"""Every knob of a run, in one frozen dataclass. The command line, `check()` and the environment
all make one of these."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from blockstep import knobs
from blockstep.findings.precision_bounds import ErrorBound

Program = tuple[int, int, int]

PTX = "ptx"
MACHINES = ("auto", "grid", "step", PTX, "gpu")
COMPILED = (PTX, "gpu")  # they run what the compiler makes, and nothing else
CACHE_SIZE = 1 << 30
_SIZE = re.compile(r"(\d+)([KMGT]?)(?:I?B)?", re.I)


@dataclass(frozen=True, slots=True)
class Options:
    """How launches run and what is judged."""

    machine: str = "auto"
    """Which machine runs a launch: "grid" (many program instances at once, the step machine where
    that cannot be), "step" (one after another), "ptx" (compiled, and the PTX run on NumPy), "gpu"
    (compiled, on a device), or "auto": "gpu" for arrays that lie on a device, else "grid"."""

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

    bounds: tuple[ErrorBound, ...] = ()
    """How far outputs may be from what float64 gives. Each launch then runs once more, with shadows."""

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
    """`BLOCKSTEP_MACHINE`, or "auto". Raises ValueError for an unknown machine."""
    name = os.environ.get("BLOCKSTEP_MACHINE", "auto")
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


def cache_folder() -> Path:
    """Where compiled kernels are kept: `BLOCKSTEP_CACHE_DIR`; else a folder of our own in Triton's
    cache, if somebody chose one (`TRITON_CACHE_DIR`, `knobs.cache.dir`); else the user's cache
    (`XDG_CACHE_HOME`, `~/.cache`)."""
    if chosen := os.environ.get("BLOCKSTEP_CACHE_DIR"):
        return Path(chosen)
    if knobs.cache.chosen_dir:
        return Path(knobs.cache.chosen_dir, "blockstep")
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "blockstep")


def cache_size() -> int:
    """How many bytes of compiled kernels are kept: `BLOCKSTEP_CACHE_SIZE` (`500M`, `2G`; 0: none),
    or 1 GiB. Raises ValueError for anything else."""
    text = os.environ.get("BLOCKSTEP_CACHE_SIZE")
    if text is None:
        return CACHE_SIZE
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"BLOCKSTEP_CACHE_SIZE={text!r}: a size is a number of bytes, 500M or 2G")
    return int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")

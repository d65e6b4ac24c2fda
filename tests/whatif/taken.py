"""Launches that are taken, not made."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language.function import launching
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.whatif.running import Repeated

Array = Any


def launch_of(kernel: Any, *args: Any, grid: Any = (1,), **named: Any) -> Launch:
    """The launch of a kernel, as the ladder has it."""
    found: list[Launch] = []

    def catch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> None:
        found.append(take(function, tuple(args), kwargs, grid))

    with launching(catch):
        kernel[grid](*args, **named)
    return found[0]


def repeated(kernel: Any, *args: Any, grid: Any = (1,), **named: Any) -> Repeated:
    """The same, ready to be run again."""
    return Repeated(launch_of(kernel, *args, grid=grid, **named))


def normal(*shape: int, seed: int = 0) -> Array:
    """float32 of which hardly one is exact in a narrower format."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)

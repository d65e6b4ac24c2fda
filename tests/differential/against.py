"""The cases that a device compares with Triton (`tests/device/against`), for the ladder.

They import `triton`, which is blockstep while they are imported.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import blockstep
from blockstep.runtime import redirect
from blockstep.runtime.ladder import Climb, verify


@contextmanager
def redirected() -> Iterator[None]:
    """`import triton` is blockstep."""
    before = redirect.installed()
    blockstep.install()
    try:
        yield
    finally:
        if not before:
            blockstep.uninstall()


@functools.cache
def cases() -> dict[str, Any]:
    """All cases by key: operations over pairs of types, functions, blocks, accesses, products."""
    with redirected():
        from tests.device.against.run import cases

        return {case.key: case for case in cases()}


INLINED = ("libdevice", "mathematics", "random")
"""Groups whose functions are inlined for each element: few elements to a thread, or LLVM takes minutes."""


def options_of(case: Any, drawn: dict[str, Any]) -> dict[str, Any]:
    """The launch options of a case."""
    return {**drawn, "num_warps": 8} if case.group in INLINED else drawn


def climb(case: Any, seed: int, options: dict[str, Any]) -> Climb:
    """A case's launch on every rung."""
    with redirected():
        from tests.device.against.run import fills

    arrays = fills(case, seed)
    given = case.wrap(list(arrays)) if case.wrap else arrays
    named = {**options, **case.constants}
    with np.errstate(all="ignore"):
        return verify(case.kernel, [*given, *case.scalars], grid=case.grid, **named)


__all__ = ["cases", "climb", "options_of"]

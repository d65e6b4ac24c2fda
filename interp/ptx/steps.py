"""Closures that run one instruction on a frame: guards, and computing instructions by their arity.

Under a guard a computing instruction computes for all threads and then selects: nothing that only
computes has an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.frame import Frame, Mask

Step = Callable[[Frame], None]
Effect = Callable[[Frame, Mask], None]


def guarded(run: Effect, guard: int | None, negated: bool) -> Step:
    if guard is None:
        return lambda frame: run(frame, None)

    def step(frame: Frame) -> None:
        holds = frame.regs[guard]
        if negated:
            holds = ~holds
        count = np.count_nonzero(holds)
        if count == holds.size:
            run(frame, None)
        elif count:
            run(frame, holds)

    return step


def computing(
    compute: Any, sources: tuple[int, ...], slots: tuple[int, ...], fits: list[Any],
    guard: int | None, negated: bool,
) -> Step:  # fmt: skip
    if guard is None and len(slots) == 1 and fits[0] is None:
        return _plain(compute, sources, slots[0])

    def run(frame: Frame, mask: Mask) -> None:
        regs = frame.regs
        found = compute(*[regs[s] for s in sources])
        for slot, bits, fitted in zip(
            slots, found if isinstance(found, tuple) else (found,), fits, strict=True
        ):
            frame.put(slot, bits if fitted is None else fitted(bits), mask)

    return guarded(run, guard, negated)


def _plain(compute: Any, sources: tuple[int, ...], slot: int) -> Step:
    if len(sources) == 1:
        (a,) = sources

        def unary(frame: Frame) -> None:
            regs = frame.regs
            regs[slot] = compute(regs[a])

        return unary
    if len(sources) == 2:
        a, b = sources

        def binary(frame: Frame) -> None:
            regs = frame.regs
            regs[slot] = compute(regs[a], regs[b])

        return binary

    def several(frame: Frame) -> None:
        regs = frame.regs
        regs[slot] = compute(*[regs[s] for s in sources])

    return several

"""Closures that run one instruction on a frame: guards, and computing instructions by their arity.

Under a guard a computing instruction computes for all threads and then selects: nothing that only
computes has an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.arith import kept

Step = Callable[[Frame], None]
Effect = Callable[[Frame, Mask], None]
Fit = Callable[[Bits], Bits]


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


@dataclass(frozen=True, slots=True)
class Plain:
    """What only computes: `compute` of the `sources` for the `slots`, where the guard holds.

    `fits` brings a result to the width of its register; None, where it has it."""

    compute: Any
    sources: tuple[int, ...]
    slots: tuple[int, ...]
    fits: tuple[Fit | None, ...] = (None,)
    guard: int | None = None
    negated: bool = False

    def step(self) -> Step:
        """The closure that runs it."""
        if self.guard is None and self.fits == (None,):
            return _unguarded(self.compute, self.sources, self.slots[0])
        compute, sources, slots, fits = self.compute, self.sources, self.slots, self.fits

        def run(frame: Frame, mask: Mask) -> None:
            regs = frame.regs
            found = compute(*[regs[s] for s in sources])
            for slot, bits, fitted in zip(
                slots, found if isinstance(found, tuple) else (found,), fits, strict=True
            ):
                frame.put(slot, bits if fitted is None else fitted(bits), mask)

        return guarded(run, self.guard, self.negated)


def _unguarded(compute: Any, sources: tuple[int, ...], slot: int) -> Step:
    if compute is kept:
        return _move(sources[0], slot)
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


def _move(source: int, slot: int) -> Step:
    def move(frame: Frame) -> None:
        regs = frame.regs
        regs[slot] = regs[source]

    return move

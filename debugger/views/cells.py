"""What elements are - numbers, NaN, undefined, masked off - and which one stands for many.

Invariant: nothing odd is averaged away. A cell of several elements is its NaN if it has one, else its
infinity, else its undefined element, else the number of largest magnitude, else one masked off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from blockstep.debugger.views.blocks import Block
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.raster import Raster


class Kind(IntEnum):
    """What an element is; the greater wins a cell."""

    ABSENT = -1
    MASKED = 0
    HOLE = 1  # masked off, and so undefined
    NUMBER = 2
    UNDEFINED = 3
    DOWN = 4  # -Inf
    UP = 5  # +Inf
    NAN = 6


WORDS = {
    Kind.MASKED: "masked off", Kind.HOLE: "masked off and undefined",
    Kind.UNDEFINED: "undefined", Kind.NAN: "NaN", Kind.UP: "Inf",
    Kind.DOWN: "-Inf",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that the ends of the colours stand for. `both`: they lie around zero."""

    low: float
    high: float
    both: bool

    def fraction(self, number: float) -> float:
        """Where a number is between the ends, 0 to 1."""
        if self.high <= self.low:
            return 1.0
        return (number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


def kinds_of(block: Block) -> Any:
    """What each element is, in the block's shape."""
    numbers = block.numbers
    found = np.full(numbers.shape, Kind.NUMBER, np.int8)
    found[np.isnan(numbers)] = Kind.NAN
    found[np.isposinf(numbers)] = Kind.UP
    found[np.isneginf(numbers)] = Kind.DOWN
    if block.mask is not None:
        found[~np.asarray(block.mask)] = Kind.MASKED
    if block.undefined is not None:
        lost = np.asarray(block.undefined)
        found[lost] = np.where(found[lost] == Kind.MASKED, Kind.HOLE, Kind.UNDEFINED)
    return found


def scale_of(numbers: Any, kinds: Any) -> Scale:
    """Of all numbers of a block, so that its pages have one scale."""
    known = numbers[kinds == Kind.NUMBER]
    if not known.size:
        return Scale(0.0, 0.0, False)
    low, high = float(known.min()), float(known.max())
    if low < 0 < high:
        far = max(-low, high)
        return Scale(-far, far, True)
    return Scale(low, high, False)


def chosen_of(raster: Raster, numbers: Any, kinds: Any) -> Any:
    """The flat index of the element that stands for each cell; -1 for a cell of none."""
    own = raster.take(kinds, np.int8(Kind.ABSENT))
    if own.shape[-1] == 1:
        first = np.zeros(raster.shape, np.int64)
    else:
        sizes = raster.take(np.abs(numbers), 0.0)
        best = own == own.max(axis=-1, keepdims=True)
        sizes = np.where(best & np.isfinite(sizes), sizes, np.where(best, 0.0, -1.0))
        first = sizes.argmax(axis=-1)
    absent = own.max(axis=-1) == Kind.ABSENT
    return np.where(absent, -1, raster.elements(first))


def sign_of(kind: Kind, palette: Palette, wide: bool = False) -> str:
    """What is written for an element that is no number."""
    signs = palette.signs
    if wide:
        texts = {
            Kind.NAN: "NaN", Kind.UP: "Inf", Kind.DOWN: "-Inf",
            Kind.HOLE: signs.masked + signs.undefined,
        }  # fmt: skip
        return texts.get(kind, signs.masked if kind is Kind.MASKED else signs.undefined)
    return {
        Kind.MASKED: signs.masked * 2, Kind.UNDEFINED: signs.undefined * 2,
        Kind.HOLE: signs.masked + signs.undefined, Kind.NAN: signs.nan * 2, Kind.UP: signs.infinity * 2, Kind.DOWN: "-" + signs.infinity,
    }[kind]  # fmt: skip


__all__ = ["WORDS", "Kind", "Scale", "chosen_of", "kinds_of", "scale_of", "sign_of"]

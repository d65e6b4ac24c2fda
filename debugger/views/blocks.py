"""`Block`: what views know of a value of the kernel, and its `Summary`.

Nothing is computed by the machine: looking must not be heard by a checker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.debugger.views.numbers import short
from blockstep.language.value import tensor


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Elements with a name: `values` as NumPy has them (of pointers: elements from the argument
    `into`), `undefined` which of them nobody has written (None: none), `mask` which of them an access
    touches (None: all), `mask_text` what that mask is in the source."""

    name: str
    type: str
    values: Any
    undefined: Any = None
    mask: Any = None
    mask_text: str = ""
    into: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the block."""
        return tuple(np.shape(self.values))

    @property
    def numbers(self) -> Any:
        """The elements as float64 (integers past 2**53 lose their last digits)."""
        return np.asarray(self.values).astype(np.float64)

    def masked_by(self, mask: Any, text: str) -> Block:
        """The same with a mask. Raises ValueError for one that does not stretch to the shape."""
        lanes = np.broadcast_to(np.asarray(mask, bool), self.shape)
        return Block(self.name, self.type, self.values, self.undefined, lanes, text, self.into)


@dataclass(frozen=True, slots=True)
class Summary:
    """What is told of a block in a line; `low` and `high` of the finite defined elements (None: there
    are none)."""

    low: Any
    high: Any
    nans: int
    infinities: int
    undefined: int
    count: int


def block_of(name: str, value: Any) -> Block | None:
    """A value of the kernel as a block; None for what has no elements (a constexpr, a function)."""
    if not isinstance(value, tensor) or not isinstance(value.handle, np.ndarray | np.generic):
        return None
    values, into = np.asarray(value.handle), ""
    kind: Any = value.type.scalar
    if kind.is_ptr():
        origin: Any = value.origin
        into = getattr(origin, "name", "") or "memory"
        values = (values - getattr(origin, "base", 0)) // max(kind.element_ty.itemsize, 1)
    taint = (value.marks or {}).get("poison")
    undefined = None if taint is None else np.broadcast_to(taint.lanes, value.shape)
    return Block(name, str(value.type), values, undefined, into=into)


def summary(block: Block) -> Summary:
    """Undefined elements count as undefined only."""
    values = np.asarray(block.values)
    known = values if block.undefined is None else values[~block.undefined]
    undefined = 0 if block.undefined is None else int(np.count_nonzero(block.undefined))
    nans = infinities = 0
    if known.dtype.kind not in "iub":
        known = known.astype(np.float64)
        nans, infinities = int(np.isnan(known).sum()), int(np.isinf(known).sum())
        known = known[np.isfinite(known)]
    low, high = (known.min(), known.max()) if known.size else (None, None)
    return Summary(low, high, nans, infinities, undefined, values.size)


def range_text(found: Summary) -> str:
    """0 .. 31; the number alone where there is only one; nothing for none."""
    if found.low is None:
        return ""
    low, high = short(found.low), short(found.high)
    return low if low == high else f"{low} .. {high}"


__all__ = ["Block", "Summary", "block_of", "range_text", "summary"]

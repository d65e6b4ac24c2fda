"""What a person wants to know of a value: for debuggers and notebooks.

Invariant: nothing here computes with the language, so that looking at a value changes nothing and
works where no machine is in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.language.value import tensor


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A value on the host. `values` are NumPy's own types (float32 for the short floats); of pointers they
    are offsets in elements from the argument `origin`. `undefined` says which elements a masked load
    left undefined (None: none); the numbers are over the others, None where there are none."""

    type_text: str
    shape: tuple[int, ...]
    dtype: str
    values: Any
    origin: str | None = None
    undefined: Any = None
    low: Any = None
    high: Any = None
    mean: float | None = None
    nans: int = 0
    infinities: int = 0

    @property
    def lost(self) -> int:
        """How many elements are undefined."""
        return 0 if self.undefined is None else int(np.count_nonzero(self.undefined))

    def sentence(self) -> str:
        """float32, 1024 elements, -3 to 2.5, mean 0.1, 2 NaN, 24 undefined."""
        parts = []
        if self.low is not None and not self.origin:
            parts.append(f"{shown(self.low)} to {shown(self.high)}")
        elif self.low is not None:
            parts.append(f"{self.origin} + {self.low}..{self.high}")
        if self.mean is not None:
            parts.append(f"mean {shown(self.mean)}")
        for count, word in (
            (self.nans, "NaN"), (self.infinities, "infinite"), (self.lost, "undefined"),
        ):  # fmt: skip
            if count:
                parts.append(f"{count} {word}")
        return ", ".join(parts)


def shown(number: Any) -> str:
    """A number in few places."""
    return f"{number:.6g}" if isinstance(number, float | np.floating) else str(number)


def facts(x: tensor) -> Facts | None:
    """The facts of a value; None where no machine of ours holds its elements (a compiled kernel)."""
    if not isinstance(x.handle, (np.ndarray, np.generic)):
        return None
    values, origin = _values(x)
    if values is None:
        return None
    undefined = (x.marks or {}).get("poison")
    lanes = None if undefined is None else np.broadcast_to(undefined.lanes, x.shape)
    lanes = lanes if lanes is not None and lanes.any() else None
    type_text, dtype = str(x.type), x.type.scalar.codegen_name()
    right = values if lanes is None else values[~lanes]
    if values.dtype.kind == "b":
        return Facts(type_text, x.shape, dtype, values, origin, lanes)
    nans = infinities = 0
    if values.dtype.kind == "f":
        nans = int(np.count_nonzero(np.isnan(right)))
        infinities = int(np.count_nonzero(np.isinf(right)))
        right = right[np.isfinite(right)]
    low, high = (right.min(), right.max()) if right.size else (None, None)
    mean = float(right.mean(dtype=np.float64)) if right.size and origin is None else None
    return Facts(
        type_text, x.shape, dtype, values, origin, lanes, low, high, mean, nans, infinities
    )  # fmt: skip


def _values(x: tensor) -> tuple[Any, str | None]:
    handle = np.asarray(x.handle)
    if x.type.scalar.is_ptr():
        view = x.origin
        if view is None or isinstance(view, tuple):
            return None, None
        size = max(x.type.scalar.element_ty.itemsize, 1)  # type: ignore[attr-defined]
        return (handle - view.base) // size, view.name
    if handle.dtype.kind not in "biuf":  # bfloat16 and the 8-bit floats
        handle = handle.astype(np.float32)
    return handle, None


__all__ = ["Facts", "facts", "shown"]

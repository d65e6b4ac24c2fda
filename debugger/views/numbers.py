"""Numbers in few columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def short(value: Any, width: int = 9) -> str:
    """A number in at most `width` columns, so exact as they allow: NaN, Inf, 1.25, 1.2e-05."""
    if isinstance(value, bool | np.bool_):
        return "True" if value else "False"
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Inf" if number > 0 else "-Inf"
    if number == int(number) and len(str(int(number))) <= width:
        return str(int(number))
    for digits in range(6, 0, -1):
        text = f"{number:.{digits}g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
        if len(text) <= width:
            return text
    return text


def full(value: Any) -> str:
    """All digits that a number has."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and dtype.kind in "iub":
        return str(value.item())
    if dtype is not None and dtype.kind == "f" and dtype.itemsize > 4:
        return repr(float(value))
    number = float(value)
    if not math.isfinite(number):
        return short(number)
    return f"{number:.9g}" if dtype is None or dtype.itemsize == 4 else f"{number:.6g}"


def size(count: int) -> str:
    """Bytes: 12.3 MiB."""
    number, unit = float(count), 0
    while number >= 1024 and unit < 4:
        number, unit = number / 1024, unit + 1
    names = ("bytes", "KiB", "MiB", "GiB", "TiB")
    return f"{count} bytes" if unit == 0 else f"{number:.1f} {names[unit]}"


__all__ = ["full", "short", "size"]

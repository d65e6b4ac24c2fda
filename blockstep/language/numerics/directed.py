"""Conversions with an explicit rounding direction: "rn", "rz", "rd" or "ru".

Invariant: one rounding of the exact value. Float to integer saturates; NaN gives 0, or only the
top bit set when the source is float64 or the result has 64 bits.
Source: PTX ISA 8.7, `cvt` with .rni .rzi .rmi .rpi and .rn .rz .rm .rp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language.numerics.convert import to_integer
from blockstep.language.numerics.formats import Array, format_of
from blockstep.language.numerics.rounding import add, stepped

_WHOLE = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def float_to_integer(x: Any, target: str, mode: str) -> Any:
    """float32 or float64 as the integer format `target`."""
    array, to = np.asarray(x), format_of(target)
    nan = int(to.bits == 64 or array.dtype == np.float64)
    with np.errstate(all="ignore"):
        return to_integer(array, to, _WHOLE[mode], nan)[()]


def integer_to_float(x: Any, target: str, mode: str) -> Any:
    """A 32-bit or 64-bit integer as float32 or float64."""
    array = np.asarray(x)
    high = (array >> array.dtype.type(16)).astype(np.float64) * 65536.0  # exact: 48 bits
    low = (array & array.dtype.type(0xFFFF)).astype(np.float64)
    if target == "float64":
        return add(high, low, mode)
    nearest = array.astype(np.float32)
    error = np.sign(high - nearest.astype(np.float64) + low)
    return stepped(nearest, error, mode)[()]


def double_to_single(x: Any, mode: str) -> Any:
    """float64 as float32."""
    array = np.asarray(x)
    with np.errstate(all="ignore"):
        nearest: Array = array.astype(np.float32)
        error = np.sign(array - nearest.astype(np.float64))
        return stepped(nearest, error, mode)[()]

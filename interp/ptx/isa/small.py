"""The formats below 16 bits, and tf32: e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0.

Such a format is a table of its numbers; a number that the format has is found in it by its order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.formats import Array
from blockstep.interp.ptx.isa.registry import Bits
from blockstep.interp.ptx.isa.rounding import FORMATS, Format, rounded


def _numbers(f: Format) -> Array:
    """What each code means: 1.mantissa · 2^(exponent - bias), and 0.mantissa · 2^least below."""
    codes = np.arange(1 << f.width)
    fraction = codes & ((1 << f.mantissa) - 1)
    exponent = codes >> f.mantissa & ((1 << (f.width - 1 - f.mantissa)) - 1)
    normal = exponent > 0
    size = np.ldexp(
        normal + fraction / 2.0**f.mantissa, np.where(normal, exponent - f.bias, f.least)
    )
    if f.infinite:  # the topmost exponent
        size = np.where(size > f.largest, np.where(fraction == 0, np.inf, np.nan), size)
    elif f.nan is not None:
        size = np.where(size > f.largest, np.nan, size)
    return np.where(codes & f.sign, -size, size).astype(np.float32)


SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
NUMBERS: dict[str, Array] = {name: _numbers(FORMATS[name]) for name in SMALL}
_POSITIVE = {name: NUMBERS[name][: FORMATS[name].top + 1] for name in SMALL}
NUMBERS["ue8m0"] = np.where(
    np.arange(256) == 255, np.nan, np.ldexp(1.0, np.arange(256) - 127)
).astype(np.float32)


def encode(x: Array, name: str, direction: str, relu: bool = False) -> Bits:
    """An f64 array in a small format, `.satfinite`, as codes in uint8: too large numbers and ±inf
    are the largest, NaN is NaN, or the largest where the format has none."""
    f = FORMATS[name]
    size = np.minimum(np.abs(rounded(x, f, direction)), f.largest)
    codes = np.searchsorted(_POSITIVE[name], size).astype(np.uint8)
    codes = np.where(np.signbit(x), 0 if relu else codes | np.uint8(f.sign), codes)
    nan = f.top if f.nan is None else f.nan
    return np.where(np.isnan(x), np.uint8(nan), codes.astype(np.uint8))


def encode_scale(x: Array, direction: str, finite: bool) -> Bits:
    """An f64 array as ue8m0, powers of two without a sign: of its size, towards zero or up."""
    fraction, exponent = np.frexp(np.abs(x))
    whole = fraction == 0.5
    power = exponent - 1 + (~whole & (direction == "rp"))
    codes = (power + 127).clip(0, 255)
    codes = np.where(x == 0, 0, np.where(np.isinf(x), 255, codes))
    if finite:
        codes = np.minimum(codes, 254)
    return np.where(np.isnan(x), 255, codes).astype(np.uint8)


def cut_tf32(x: Bits) -> Bits:
    """The bits of an f32 that a tf32 operand has: the lower 13 do not count."""
    return x & np.uint32(0xFFFFE000)


def decode(name: str, codes: Any) -> Array:
    """The f32 numbers of the codes of a small format."""
    numbers: Array = NUMBERS[name][codes]
    return numbers

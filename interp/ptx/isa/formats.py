"""Float registers as NumPy arrays, and back.

A carrier is the NumPy type in which a format is computed: f16 and bf16 in f32, which holds sums,
products and quotients of theirs well enough that rounding twice is rounding once (24 bits are at
least twice 11 and two more). NaN comes out as the one that the hardware writes, 0x7fffffff and
0x7fff, but for f64, which keeps payloads: the manual leaves the NaN of the others open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.interp.ptx.isa.registry import Bits
from blockstep.interp.ptx.isa.rounding import to_f32
from blockstep.interp.ptx.isa.trace import tracing

Array = NDArray[Any]

NAN_32, NAN_16 = np.uint32(0x7FFFFFFF), np.uint16(0x7FFF)

# The exponent and the sign bit: what is left of a subnormal number is its sign.
_EXPONENT = {"f32": np.uint32(0x7F800000), "f16": np.uint16(0x7C00), "bf16": np.uint16(0x7F80)}
_SIGN = {"f32": np.uint32(1 << 31), "f16": np.uint16(1 << 15), "bf16": np.uint16(1 << 15)}
_SIGN |= {"f64": np.uint64(1 << 63)}


# The number of every f16: looking it up takes half the time of converting it.
_F16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def load_f16(x: Bits) -> Array:
    return x.view(np.float16).astype(np.float32) if tracing(x) else _F16.take(x)


def load_bf16(x: Bits) -> Array:
    return (x.astype(np.uint32) << 16).view(np.float32)


def load_f32(x: Bits) -> Array:
    return x.view(np.float32)


def load_f64(x: Bits) -> Array:
    return x.view(np.float64)


def any_nan(r: Array) -> bool:
    """Whether there is a NaN: a sum of squares is one only then, and is one quick call."""
    squares = np.vdot(r, r)
    return bool(squares != squares)


def store_f32(r: Array) -> Bits:
    if any_nan(r):
        return np.where(np.isnan(r), NAN_32, r.view(np.uint32))
    return r.view(np.uint32)


def store_f16(r: Array) -> Bits:
    """An f32 or f64 array as f16, rounded to nearest."""
    bits = r.astype(np.float16).view(np.uint16)
    return np.where(np.isnan(r), NAN_16, bits) if any_nan(r) else bits


def store_bf16(r: Array) -> Bits:
    """An f32 array as bf16, rounded to nearest: half of the last place is added to the bits, less
    one where the place before is even, and what lies behind is cut."""
    u = r.view(np.uint32)
    bits = ((u + np.uint32(0x7FFF) + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(r), NAN_16, bits) if any_nan(r) else bits


def store_f64(r: Array) -> Bits:
    return r.view(np.uint64)


def settled(chosen: Array, a: Array, b: Any) -> Array:
    """What fmin or fmax of NumPy's chose of two: at some places of an array they give a NaN for a
    signalling NaN and a number, where the number is meant."""
    if tracing(chosen) or not any_nan(chosen):
        return chosen
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, chosen))


LOAD = {"f16": load_f16, "bf16": load_bf16, "f32": load_f32, "f64": load_f64}
STORE = {"f16": store_f16, "bf16": store_bf16, "f32": store_f32, "f64": store_f64}


def odd_to_f32(s: Array) -> Any:
    """An f64 result, exact or rounded to odd, rounded to odd as f32."""
    cut = to_f32(s, "rz")
    return (cut.view(np.uint32) | (cut.astype(np.float64) != s)).view(np.float32)


def flushed(type: str, x: Bits) -> Bits:
    """`.ftz`: subnormal numbers are zero, with their sign."""
    subnormal = (x & _EXPONENT[type]) == 0
    return np.where(subnormal, x & _SIGN[type], x) if subnormal.any() else x


def sign_bit(type: str) -> Any:
    """The sign bit of a format, as a number of its width."""
    return _SIGN[type]

"""Conversions between scalar formats, with the results that an sm_90 GPU gives.

Invariant: every conversion rounds once, from the exact source value, except where the hardware
path itself has two steps (float32 to float8e4b15 goes through float16, rounded toward zero).

* float to float: nearest even, or toward zero with `"rtz"`; subnormals are kept. To an 8-bit float
  the result saturates: overflow and infinities give the largest finite value, NaN stays NaN.
  (float32 to float8e5 toward zero is float16 toward zero with the low byte cut: infinity stays.)
  float8e5 to bfloat16 reads the greatest exponent as any other: infinity gives 65536, and its NaNs
  81920 to 114688 (Triton 3.6 rescales the bits; measured on an H200).
* float to integer: toward zero and saturating. NaN gives 0, or only the top bit when the source is
  float64 or the target has 64 bits. 8-bit targets are the low byte of the 16-bit result.
* integer to float: nearest even. Integer to integer: the low bits. To int1: `!= 0`.

Source: PTX ISA 8.7, `cvt`. Which pairs the language allows is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockstep.language.numerics.formats import Array, Format, decoded, format_of

Step: TypeAlias = Callable[[Array], Array]

_FAST_HALF = 2048  # elements from which the integer route to float32 beats NumPy's own


def convert(x: Any, src: str, dst: str, rounding: str | None = None) -> Any:
    """`x`, stored as format `src`, as format `dst`; `rounding` is None, `"rtne"` or `"rtz"`."""
    with np.errstate(all="ignore"):
        return converter(src, dst, rounding)(np.asarray(x))[()]


@cache
def converter(src: str, dst: str, rounding: str | None = None) -> Step:
    """The function that `convert` applies, for callers that convert many arrays."""
    if rounding not in (None, "rtne", "rtz"):
        raise ValueError(f"rounding is 'rtne' or 'rtz', not {rounding!r}")
    a, b = format_of(src), format_of(dst)
    if a is b:
        return lambda x: x
    if b.kind == "bool":
        return _nonzero(a)
    if a.kind != "float":
        return _from_integer(a, b)
    if b.kind != "float":
        nan = 1 << (b.bits - 1) if b.bits == 64 or a.bits == 64 else 0
        return _then(_widened(a), lambda x: to_integer(x, b, nan=nan))
    return _between_floats(a, b, rounding == "rtz")


def _then(first: Step, second: Step) -> Step:
    return lambda x: second(first(x))


def _nonzero(a: Format) -> Step:
    widen = _widened(a) if a.kind == "float" else (lambda x: x)
    return lambda x: np.asarray(widen(x) != 0)


def _between_floats(a: Format, b: Format, rtz: bool) -> Step:
    if b.name == "float8e4b15":
        half = _between_floats(a, format_of("float16"), a.name != "float16")
        return _then(half if a.name != "float16" else (lambda x: x), half_to_e4b15)
    if a.name == "float8e5" and b.name == "bfloat16":
        return _rescaled
    if b.bits == 64:
        return _half_to_double if a.name == "float16" else _then(_widened(a), _to_double)
    if a.bits == 64:
        return _narrowed_from_double(b, rtz)
    return _then(_widened(a), _narrowed(b, rtz))


def _rescaled(x: Array) -> Array:
    """float8e5 to bfloat16 by a multiplication of the shifted bits."""
    code = x.view(np.uint8).astype(np.uint32)
    shifted = ((code & 0x80) << 24 | (code & 0x7F) << 21).view(np.float32)
    return (shifted * np.float32(2.0**112)).astype(format_of("bfloat16").storage)


def _widened(a: Format) -> Step:
    """From `a` to float32 (float64 stays), exactly."""
    if a.name == "float16":
        return half_to_single
    if a.name == "bfloat16":
        return lambda x: (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if a.is_float8:
        table = decoded(a.name)
        return lambda x: table[x.view(np.uint8)]
    return lambda x: x


def half_to_single(x: Array) -> NDArray[np.float32]:
    """float16 to float32; long arrays take an integer route that is several times faster."""
    if x.size < _FAST_HALF:
        return _silence_nan(x.astype(np.float32))
    bits = x.view(np.int16).astype(np.int32, order="C")
    bits <<= 13  # the sign fills bits 31..28; exponent and fraction stand where float32 has them
    bits &= np.int32(-0x70000001)
    wide: NDArray[np.float32] = bits.view(np.float32)
    wide *= np.float32(2.0**112)  # the two biases differ by 112; exact for subnormals too
    if wide.max() >= 65536 or wide.min() <= -65536:  # infinities and NaN
        return _silence_nan(x.astype(np.float32, order="C"))
    return wide


def _silence_nan(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The one NaN that the hardware writes, 0x7fffffff, in place of any other."""
    return _with_nan(x, x, format_of("float32"))


def _with_nan(out: Array, x: Array, b: Format) -> Array:
    """`out`, with the canonical NaN of `b` where `x` is NaN."""
    if x.size and np.isnan(x.max()):
        codes = np.where(np.isnan(x), np.array(b.nan, f"u{b.bits // 8}"), _codes(out, b))
        return np.asarray(codes).view(b.storage)
    return out


def _codes(x: Array, b: Format) -> Array:
    return np.asarray(x).view(f"u{b.bits // 8}")


def _narrowed(b: Format, rtz: bool) -> Step:
    """From float32 to `b`."""
    if b.bits == 32:
        return lambda x: x
    if b.is_float8:
        table = _float8_table(b.name, rtz)
        return lambda x: table[_top_and_sticky(x)].view(b.storage)
    if not rtz:
        return lambda x: _with_nan(x.astype(b.storage), x, b)
    if b.name == "bfloat16":
        return lambda x: _with_nan((_codes32(x) >> 16).astype(np.uint16).view(b.storage), x, b)
    return lambda x: _with_nan(_toward_zero(x.astype(b.storage), x, b), x, b)


def _narrowed_from_double(b: Format, rtz: bool) -> Step:
    if b.bits == 32:
        return lambda x: _toward_zero(x.astype(np.float32), x, b) if rtz else x.astype(np.float32)
    narrow = _narrowed(b, rtz)
    if b.is_float8:
        return _then(to_odd_single, narrow)
    return lambda x: _with_payload(narrow(to_odd_single(x)), x, b)


def _with_payload(out: Array, x: Array, b: Format) -> Array:
    """float64 alone hands the top of a NaN's payload and its sign on."""
    lost = np.isnan(x)
    if not lost.any():
        return out
    bits = np.asarray(x).view(np.uint64)
    sign, fraction = bits >> np.uint64(63), bits & np.uint64((1 << 52) - 1)
    head = fraction >> np.uint64(52 - b.fraction) | sign << np.uint64(15)
    quiet = np.uint64(b.nan & ~((1 << b.fraction - 1) - 1))  # exponent and the top payload bit
    codes = np.where(lost, (head | quiet).astype(np.uint16), _codes(out, b))
    return np.asarray(codes).view(b.storage)


def _half_to_double(x: Array) -> NDArray[np.float64]:
    wide = _to_double(x)
    if not np.isnan(wide).any():
        return wide
    quiet = np.where(np.isnan(wide), np.uint64(1 << 51), np.uint64(0))
    return np.asarray(np.asarray(wide).view(np.uint64) | quiet).view(np.float64)


def _to_double(x: Array) -> NDArray[np.float64]:
    return np.asarray(x.astype(np.float64))


def _codes32(x: Array) -> NDArray[np.uint32]:
    return np.ascontiguousarray(x).reshape(x.shape).view(np.uint32)


def _toward_zero(rounded: Array, x: Array, b: Format) -> Array:
    """`rounded`, the nearest of `x`, stepped back where it lies farther from zero than `x`."""
    codes = _codes(rounded, b)
    beyond = np.abs(rounded.astype(x.dtype)) > np.abs(x)
    return np.asarray(codes - beyond.astype(codes.dtype)).view(b.storage)


def to_odd_single(x: Array) -> NDArray[np.float32]:
    """float64 to float32 rounded to odd, so that a second, narrower rounding is a single one.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57 (2008).
    """
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = np.asarray(nearest).view(np.uint32) - (np.abs(back) > np.abs(x)).astype(np.uint32)
    return np.asarray(bits | (back != x).astype(np.uint32)).view(np.float32)


def _top_and_sticky(x: Array) -> NDArray[np.intp]:
    """Index of an 8-bit table: the top 16 bits of a float32, then whether any low bit is set."""
    bits = _codes32(x)
    sticky = ((bits & 0xFFFF) + np.uint32(0xFFFF)) >> 16
    return np.asarray((bits >> 16) << 1 | sticky).astype(np.intp)


@cache
def _float8_table(name: str, rtz: bool) -> NDArray[np.uint8]:
    """Codes of all (top 16 bits, sticky) pairs; every rounding boundary has at most 16 bits."""
    index = np.arange(1 << 17, dtype=np.uint32)
    values = ((index >> 1) << 16 | index & 1).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        return float8_codes(values.astype(np.float64), format_of(name), rtz)


def float8_codes(x: NDArray[np.float64], b: Format, rtz: bool) -> NDArray[np.uint8]:
    """Codes of `x` in the 8-bit float format `b`, saturating."""
    magnitude = np.abs(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf))
    clipped = np.minimum(magnitude, 4 * b.largest)
    exponent = np.maximum(np.frexp(clipped)[1] - 1, 1 - b.bias) - b.fraction
    steps = np.ldexp(clipped, -exponent)  # exact: the value in units of its last place
    whole = np.trunc(steps) if rtz else np.rint(steps)
    rounded = np.minimum(np.ldexp(whole, exponent), b.largest)
    ladder = decoded(b.name)[:128].astype(np.float64)
    finite = ladder[np.isfinite(ladder)]
    codes = np.searchsorted(finite[finite <= b.largest], rounded).astype(np.uint8)
    if rtz and b.name == "float8e5":
        codes = np.where(np.isinf(x), np.uint8(0x7C), codes)
    unsigned_zero = b.nan == 0x80  # there -0 is the code of NaN
    signed = np.where(np.signbit(x) & ~((codes == 0) & unsigned_zero), codes | 0x80, codes)
    return np.where(np.isnan(x), np.uint8(b.nan), signed).astype(np.uint8)


def half_to_e4b15(x: Array) -> NDArray[np.uint8]:
    """float16 to float8e4b15 codes: clamp to 1.75, then round half up on the magnitude's bits."""
    bits = np.asarray(x).view(np.uint16)
    magnitude = bits & np.uint16(0x7FFF)
    clamped = np.minimum(magnitude, np.uint16(0x3F00))  # NaN has the larger code: 1.75 as well
    return np.asarray((clamped * 2 + 0x80) >> 8 | (bits & 0x8000) >> 8).astype(np.uint8)


def to_integer(
    x: Array, b: Format, whole: Callable[[Array], Array] = np.trunc, nan: int = 0
) -> Array:
    """float32 or float64 to the integer format `b`, saturating; `whole` rounds.

    NaN gives 0, or the top bit alone where `nan` is not 0."""
    bits = max(b.bits, 16)
    held = np.dtype(f"{'i' if b.kind == 'signed' else 'u'}{bits // 8}")
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if held.kind == "i" else (0.0, 2.0**bits)
    r = np.asarray(whole(x))
    if r.size and r.min() >= low and r.max() < high:
        return r.astype(held).astype(b.storage)
    limits = np.iinfo(held)
    inside = (r >= low) & (r < high)
    out = np.where(inside, r, r.dtype.type(0)).astype(held)
    out = np.where(r >= high, held.type(limits.max), np.where(r < low, held.type(limits.min), out))
    nan_bits = np.array(nan and 1 << (bits - 1), f"u{bits // 8}").view(held)
    return np.where(np.isnan(r), nan_bits, out).astype(b.storage)


def _from_integer(a: Format, b: Format) -> Step:
    if b.kind != "float":
        return lambda x: x.astype(b.storage)
    if b.name in ("float64", "float32", "float16"):  # beyond 2^24 float16 is infinite either way
        return lambda x: x.astype(b.storage)
    narrow = (
        _narrowed_from_double(b, False)
        if b.name != "float8e4b15"
        else _between_floats(format_of("float64"), b, False)
    )
    return _then(to_odd_double, narrow)


def to_odd_double(x: Array) -> NDArray[np.float64]:
    """Integers as float64, rounded to odd where 64 bits do not fit in 53."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    one = x.dtype.type(1)
    low = x.dtype.type(0xFFF)
    sticky = ((x & low) != 0).astype(x.dtype) << x.dtype.type(11)
    odd = (x & ~low) | sticky
    small = (x < (one << x.dtype.type(53))) & (x > -(1 << 53) if x.dtype.kind == "i" else True)
    return np.where(small, x, odd).astype(np.float64)

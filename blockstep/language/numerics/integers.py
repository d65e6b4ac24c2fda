"""Integer intrinsics of the GPU: bit counts and permutations, high products, averages.

Invariant: every function works on the two's complement bits of its operands' own width and gives
what the PTX instruction of that name gives; no operand is out of its domain.
Source: PTX ISA 8.7 (clz, popc, bfind, brev, prmt, mul.hi, mul24, sad); CUDA integer intrinsics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language.numerics.formats import Array


def _unsigned(x: Any) -> Array:
    array = np.asarray(x)
    return array.view(f"u{array.dtype.itemsize}")


def popc(x: Any) -> Any:
    """The number of set bits, as int32."""
    return np.bitwise_count(_unsigned(x)).astype(np.int32)


def clz(x: Any) -> Any:
    """The number of zero bits above the highest set bit (all bits for 0), as int32."""
    bits = _unsigned(x)
    width = 8 * bits.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            bits = bits | bits >> bits.dtype.type(shift)
    return (width - np.bitwise_count(bits).astype(np.int32)).astype(np.int32)


@np.errstate(over="ignore")
def ffs(x: Any) -> Any:
    """The position of the lowest set bit counted from 1 (0 for 0), as int32."""
    bits = _unsigned(x)
    lowest = bits & (~bits + bits.dtype.type(1))
    position = np.bitwise_count(lowest - bits.dtype.type(1)).astype(np.int32) + 1
    return np.where(bits == 0, 0, position).astype(np.int32)


def brev(x: Any) -> Any:
    """The bits in reverse order."""
    array = np.asarray(x)
    octets = np.array(array, order="C")[..., None].view(np.uint8)
    return np.ascontiguousarray(_REVERSED[octets[..., ::-1]]).view(array.dtype)[..., 0]


_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1])


def byte_perm(x: Any, y: Any, selector: Any) -> Any:
    """Four of the eight bytes of `y:x`, chosen by the low three bits of the selector's nibbles."""
    low, high, chosen = _unsigned(x), _unsigned(y), _unsigned(selector)
    source = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    out = np.zeros(np.broadcast(low, high, chosen).shape, np.uint64)
    for byte in range(4):
        which = (chosen >> np.uint32(4 * byte) & np.uint32(7)).astype(np.uint64)
        picked = source >> (which * np.uint64(8)) & np.uint64(255)
        out |= picked << np.uint64(8 * byte)
    return out.astype(np.uint32).view(np.int32)


@np.errstate(over="ignore")
def mulhi(x: Any, y: Any) -> Any:
    """The high half of the full product of two 32-bit or 64-bit integers."""
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype.itemsize == 4:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide) >> wide(32)).astype(a.dtype)
    high = _unsigned_high(_unsigned(a), _unsigned(b)).view(a.dtype)
    if a.dtype.kind == "u":
        return high
    zero = np.int64(0)  # the unsigned product counts a negative operand as 2**64 more
    return high - np.where(a < 0, b, zero) - np.where(b < 0, a, zero)


def _unsigned_high(a: Array, b: Array) -> Array:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    return np.asarray(a1 * b1 + (middle >> half) + (other >> half))


@np.errstate(over="ignore")
def mul24(x: Any, y: Any) -> Any:
    """The low 32 bits of the product of the low 24 bits (sign-extended for int32)."""
    a, b = np.asarray(x), np.asarray(y)
    eight = a.dtype.type(8)
    return (a << eight >> eight) * (b << eight >> eight)


def sad(x: Any, y: Any, z: Any) -> Any:
    """`|x - y| + z` modulo 2**32, in the type of `x`."""
    a, b = np.asarray(x).astype(np.int64), np.asarray(y).astype(np.int64)
    return (np.abs(a - b) + np.asarray(z).astype(np.int64)).astype(np.asarray(x).dtype)


def hadd(x: Any, y: Any) -> Any:
    """The average rounded down, without overflow."""
    a, b = np.asarray(x).astype(np.int64), np.asarray(y).astype(np.int64)
    return (a + b >> np.int64(1)).astype(np.asarray(x).dtype)


def rhadd(x: Any, y: Any) -> Any:
    """The average rounded up, without overflow."""
    a, b = np.asarray(x).astype(np.int64), np.asarray(y).astype(np.int64)
    return (a + b + 1 >> np.int64(1)).astype(np.asarray(x).dtype)

"""Random numbers from a seed and a block of offsets: Philox, bit for bit as Triton draws them.

The counter is (offset, offset >> 32, 0, 0) and the key the 64-bit seed, so that a number depends on
the seed and its offset only.
"""

from __future__ import annotations

from typing import Any

from blockstep.language import math
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import constexpr
from blockstep.language.elementwise import (
    and_,
    less_than,
    maximum,
    minus,
    mul,
    rshift,
    sub,
    where,
)
from blockstep.language.library import library
from blockstep.language.op import emit
from blockstep.language.ops.random import PHILOX
from blockstep.language.promotion import broadcast, broadcast_to, constant, to_tensor
from blockstep.language.value import tensor

N_ROUNDS_DEFAULT = constexpr(10)

_SCALE_32 = 4.6566127342e-10  # the greatest float32 below 2^-31: the greatest int32 maps below 1
_SCALE_64 = 1.0842020432385337e-19
_TWO_PI = 6.283185307179586


def _together(values: list[Any]) -> list[Any]:
    """All of them in the shape that they have in common."""
    for i in range(1, len(values)):
        values[0], values[i] = broadcast(values[0], values[i])
    shape = values[0].type.shape
    return [broadcast_to(x, shape) for x in values]


@library
def philox_impl(
    c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = N_ROUNDS_DEFAULT
) -> Any:
    """`n, n, n, n, n, n -> n, n, n, n`: `n_rounds` rounds on counter words c0 … c3 with key words
    k0, k1. Raises TypeError unless all are uint32 or all uint64."""
    words = [to_tensor(x) for x in (c0, c1, c2, c3, k0, k1)]
    scalar = words[0].type.scalar
    if scalar not in (ty.uint32, ty.uint64) or any(x.type.scalar is not scalar for x in words):
        raise TypeError(f"philox_impl takes uint32 or uint64 words, not {words[0].type}")
    return emit(PHILOX, *_together(words), rounds=_rounds(n_rounds))


def _rounds(n_rounds: Any) -> int:
    if isinstance(n_rounds, constexpr):
        n_rounds = n_rounds.value
    if isinstance(n_rounds, tensor):
        raise TypeError("n_rounds is a constexpr, not a run-time value")
    return int(n_rounds)


def _key(seed: tensor, wide: bool) -> tuple[Any, Any]:
    """The two key words of a uint64 seed: its halves, or itself and zero."""
    if wide:
        return seed, constant(0, ty.uint64)
    low = cast(and_(seed, 0xFFFFFFFF), ty.uint32)
    return low, cast(rshift(seed, 32), ty.uint32)


@library
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n, n, n, n -> n, n, n, n`: four random words for each counter, uint32 for 32-bit counter
    words and uint64 for 64-bit ones.

    Raises TypeError for another width or a seed that is no integer."""
    seed = to_tensor(seed)
    if not seed.type.scalar.is_int():
        raise TypeError(f"the seed is an integer, not {seed.type}")
    words = [to_tensor(x) for x in (c0, c1, c2, c3)]
    bits = words[0].type.scalar.primitive_bitwidth
    if bits not in (32, 64):
        raise TypeError(f"philox takes counters of 32 or 64 bits, not {words[0].type}")
    unsigned = ty.uint32 if bits == 32 else ty.uint64
    k0, k1 = _key(cast(seed, ty.uint64), bits == 64)
    w0, w1, w2, w3 = [cast(x, unsigned, bitcast=True) for x in words]
    return philox_impl(w0, w1, w2, w3, k0, k1, n_rounds)


@library
def randint4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n, n, n, n` uint32: four random blocks, for the price of one."""
    offset = to_tensor(offset)
    low = cast(offset, ty.uint32)
    zero = broadcast_to(constant(0, ty.uint32), low.type.shape)
    wide = offset.type.scalar.primitive_bitwidth > 32
    high = cast(rshift(offset, 32), ty.uint32) if wide else zero
    return philox(seed, low, high, zero, zero, n_rounds)


@library
def randint(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n` uint32: random bits."""
    return randint4x(seed, offset, n_rounds)[0]


@library
def uint_to_uniform_float(x: Any) -> Any:
    """`n -> n` float32: a random 32- or 64-bit word as a number in [0, 1).

    The word is read as signed, -1 - x replaces a negative x, and the rest is scaled."""
    x = to_tensor(x)
    scalar = x.type.scalar
    if scalar in (ty.uint32, ty.int32):
        signed, scale = cast(x, ty.int32, bitcast=True), _SCALE_32
    elif scalar in (ty.uint64, ty.int64):
        signed, scale = cast(x, ty.int64, bitcast=True), _SCALE_64
    else:
        raise TypeError(f"uint_to_uniform_float takes words of 32 or 64 bits, not {x.type}")
    return mul(where(less_than(signed, 0), sub(minus(signed), 1), signed), scale)


@library
def rand(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n` float32: uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@library
def rand4x(seed: Any, offsets: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n, n, n, n` float32: four uniform blocks."""
    return tuple([uint_to_uniform_float(x) for x in randint4x(seed, offsets, n_rounds)])


@library
def pair_uniform_to_normal(u1: Any, u2: Any) -> Any:
    """`n, n -> n, n`: two independent normal numbers from two uniform ones (Box and Muller)."""
    radius = math.sqrt(mul(-2.0, math.log(maximum(1.0e-7, u1))))
    angle = mul(_TWO_PI, u2)
    return mul(radius, math.cos(angle)), mul(radius, math.sin(angle))


@library
def randn(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n` float32: normal, with mean 0 and variance 1."""
    words = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(*[uint_to_uniform_float(x) for x in words[:2]])[0]


@library
def randn4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """`, n -> n, n, n, n` float32: four normal blocks."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    return (*pair_uniform_to_normal(u1, u2), *pair_uniform_to_normal(u3, u4))


__all__ = [
    "N_ROUNDS_DEFAULT",
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]

"""The Philox counter-based generator as one operation.

Two widths: 4 x 32 bits, and 4 x 64 bits. Each round multiplies two of the four words by constants
and crosses the halves of the products with the other two and the key, which moves on by a Weyl
sequence. Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
1, 2, 3" (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.language import types as ty
from blockstep.language.op import Family, define
from blockstep.language.ops.elementwise import UMULHI

MULTIPLIERS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
WEYL = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _four(c0: ty.dtype, *_: ty.dtype, rounds: int) -> tuple[ty.dtype, ...]:
    return (c0,) * 4


def _narrow(x: Any) -> Any:
    """A repeated axis (of stride 0) as one of length 1: a key is mostly one scalar for a block."""
    x = np.asarray(x)
    return x[tuple([slice(0, 1) if step == 0 else slice(None) for step in x.strides])]


def _pair(a: Any, b: Any, rank: int) -> NDArray[Any]:
    """Two words as one array of 64-bit integers, with `rank` axes behind the new first one."""
    pair = np.stack(np.broadcast_arrays(a, b)).astype(np.uint64)
    return pair.reshape((2,) + (1,) * (rank + 1 - pair.ndim) + pair.shape[1:])


def _constants(values: tuple[int, int], dtype: Any, rank: int) -> NDArray[Any]:
    return np.array(values, dtype).reshape((2,) + (1,) * rank)


def _round_32(even: Any, multipliers: Any) -> tuple[Any, Any]:
    """Both products of 32-bit words, held in 64 bits: their upper and lower halves."""
    product = even * multipliers
    return product >> _HALF, product & _LOW


def _round_64(even: Any, multipliers: Any) -> tuple[Any, Any]:
    assert UMULHI.meaning is not None
    high = UMULHI.meaning(even, np.broadcast_to(multipliers, even.shape))
    return high, even * multipliers


def _philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, rounds: int) -> Any:
    """Words 0 and 2 travel as one array, words 1 and 3 as another: two products at a time."""
    word = np.asarray(c0).dtype
    bits, shape = word.itemsize * 8, np.broadcast_shapes(*map(np.shape, (c0, c1, c2, c3, k0, k1)))
    rank = len(shape)
    one_round = _round_32 if bits == 32 else _round_64
    even, odd = _pair(c0, c2, rank), _pair(c1, c3, rank)
    key = _pair(_narrow(k0), _narrow(k1), rank)
    multipliers = _constants(MULTIPLIERS[bits], np.uint64, rank)
    weyl = _constants(WEYL[bits], np.uint64, rank)
    for _ in range(rounds):
        high, low = one_round(even, multipliers)
        even = high[::-1] ^ odd ^ key
        odd = low[::-1]
        key = (key + weyl) & _LOW if bits == 32 else key + weyl
    words = even[0], odd[0], even[1], odd[1]
    return tuple(np.broadcast_to(w, shape).astype(word)[()] for w in words)


PHILOX = define(
    "philox",
    Family.ELEMENTWISE,
    _four,
    _philox,
    "`n, n, n, n, n, n -> n, n, n, n`: rounds of Philox on four counter words with two key words.",
)

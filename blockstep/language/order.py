"""Sorting by bitonic networks, written in the language.

A block is seen as a hypercube: element i lies at the corner whose coordinates are the bits of i.
One step compares partners that differ in one bit and keeps the greater on the side that the
direction asks for. The comparison `x > y` is false for equal elements and NaN, so that a NaN makes
the result meaningless and the order of +0.0 and -0.0 is open. Sources: K. Batcher, "Sorting networks
and their applications" (1968); A. Shanbhag, H. Pirk, S. Madden, "Efficient top-k query processing on
GPUs" (2018).
"""

from __future__ import annotations

from typing import Any

from blockstep.language import shape
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.creation import arange
from blockstep.language.elementwise import equal, greater_than, not_equal, where, xor
from blockstep.language.extrema import max, min
from blockstep.language.library import library
from blockstep.language.promotion import to_tensor
from blockstep.language.shape import axis_index, broadcast_to, reshape
from blockstep.language.value import tensor

ALTERNATING = 2


@library
def _log2(i: Any) -> int:
    """The base-2 logarithm of a constexpr, rounded down."""
    n = int(i)
    return n.bit_length() - 1 if n > 0 else 0


def _bits(n: int) -> list[Any]:
    """`-> n` int1 for each bit of an index below n: whether that bit is set."""
    odd = reshape(cast(arange(0, 2), ty.int1), (1, 2, 1))
    shapes = [(n >> (bit + 1), 2, 1 << bit) for bit in range(_log2(n))]
    return [reshape(broadcast_to(odd, dims), (n,)) for dims in shapes]


def _partners(x: tensor, bit: int) -> Any:
    """`n -> n`: the element whose index differs in `bit`."""
    pairs = reshape(x, (x.numel >> (bit + 1), 2, 1 << bit))
    return reshape(shape.flip(pairs, 1), x.shape)


def _merge(x: tensor, bits: list[Any], stage: int, order: int) -> Any:
    """`n -> n`: runs of 2^stage elements, each bitonic, put in order: ascending (0),
    descending (1), or by turns: ascending where bit `stage` of the index is 0, else descending."""
    for bit in reversed(range(stage)):
        partner = _partners(x, bit)
        greater = greater_than(x, partner)
        upper = xor(bits[bit], bits[stage]) if order == ALTERNATING else bits[bit]
        swap = equal(greater, upper) if order == 1 else not_equal(greater, upper)
        x = where(swap, partner, x)
    return x


def _last_axis(x: tensor, dim: Any) -> int:
    """The length of the axis to sort. Raises ValueError unless it is the last one."""
    rank = len(x.type.shape)
    if not rank:
        raise ValueError("a scalar has no axis to sort")
    if axis_index(-1 if dim is None else dim, rank) != rank - 1:
        raise ValueError("only minor dimension is currently supported")
    return x.type.shape[-1]


@library
def sort_impl(x: Any, k: Any = None, dim: Any = None, descending: Any = False) -> Any:
    """`m n -> m k`: the k first elements of each row in order; without k, all of them.

    Runs of k are sorted, then halves are dropped: of two runs side by side, only the elementwise
    maximum (minimum if ascending) can hold one of the k first. `max` and `min` widen narrow
    types."""
    x = to_tensor(x)
    n = _last_axis(x, dim)
    kept = n if k is None else int(k)
    if kept < 1 or kept & (kept - 1) or kept > n:
        raise ValueError(f"topk: k must be a power of 2 up to {n}, but it is {kept}")
    order, log_n, log_k = int(bool(descending)), _log2(n), _log2(kept)
    h = reshape(x, (x.numel,))
    bits = _bits(h.numel)
    for stage in range(1, log_k + 1):
        h = _merge(h, bits, stage, ALTERNATING if stage < log_n else order)
    for stage in range(log_k + 1, log_n + 1):
        runs = reshape(h, (h.numel >> (log_k + 1), 2, kept))
        h = reshape(max(runs, 1) if order else min(runs, 1), (h.numel >> 1,))
        h = _merge(h, _bits(h.numel), log_k, ALTERNATING if stage < log_n else order)
    return reshape(h, (*x.type.shape[:-1], kept))


@library
def sort(x: Any, dim: Any = None, descending: Any = False) -> Any:
    """`m n -> m n`: each row in order; not stable, no order for NaN. Only the last axis."""
    return sort_impl(x, None, dim, descending)


@library
def topk(x: Any, k: Any, dim: Any = None, descending: Any = True) -> Any:
    """`m n -> m k`: the k greatest of each row, greatest first (the k least, if not `descending`).

    For k < n the result has `max`'s type: float16 gives float32, int8 gives int32."""
    return sort_impl(x, k, dim, descending)


@library
def bitonic_merge(x: Any, dim: Any = None, descending: Any = False) -> Any:
    """`m n -> m n`: each row in order, given that it first rises and then falls (or is a rotation
    of such a row)."""
    x = to_tensor(x)
    stage = _log2(_last_axis(x, dim))
    merged = _merge(reshape(x, (x.numel,)), _bits(x.numel), stage, int(bool(descending)))
    return reshape(merged, x.type.shape)


__all__ = ["_log2", "bitonic_merge", "sort", "sort_impl", "topk"]

"""Operations that exist only in placed IR, where every block value has a layout.

They move elements between holders (registers, lanes, warps, shared memory) and order those moves;
none changes a value. A *ring* is shared memory for several copies of one block, its slots: a copy
is started into a slot, a later wait makes it complete, and reading a slot gives the block. What a
matrix unit computes may be *in flight*: the sums exist once a wait has named them.
"""

from __future__ import annotations

from typing import Any

from blockstep.language import types as ty
from blockstep.language.op import Family, Op, same

CONVERT = Op(
    "convert",
    Family.SHAPE,
    same,
    lambda x: x,
    "`m n -> m n`: the same block in the layout of the result.",
)


def _control(name: str, rule: Any, doc: str) -> Op:
    return Op(name, Family.CONTROL, rule, None, doc)


def _nothing(*_: ty.dtype, **__: Any) -> ty.dtype:
    return ty.void


def _block(*_: ty.dtype, shape: tuple[int, ...], element: ty.dtype, **__: Any) -> ty.dtype:
    return ty.block_type(element, shape)


def _all(*xs: ty.dtype, **__: Any) -> Any:
    return xs if len(xs) != 1 else xs[0]


RING = _control(
    "ring", lambda **_: ty.int32, "`->` int32: shared memory for `slots` blocks of a shape."
)
ASYNC_COPY = _control(
    "async_copy",
    _nothing,
    "`, , , m n, m n int1 ->`: starts to copy what the pointers name into a slot of a ring, if the "
    "scalar condition holds; zeros where the mask is off.",
)
ASYNC_COMMIT = _control("async_commit", _nothing, "`->`: the copies started so far are a group.")
ASYNC_WAIT = _control(
    "async_wait", _nothing, "`->`: at most `pending` groups of copies are still under way."
)
SLOT = _control("slot", _block, "`, -> m n`: the block in a slot of a ring.")
DOT_WAIT = _control(
    "dot_wait",
    _all,
    "`m n, … -> m n, …`: at most `pending` products are still in flight; those named are not.",
)

PHASES = _control(
    "phases",
    lambda **_: ty.int32,
    "`->` int32: a barrier for each slot of a ring, which counts the bytes that have come.",
)
TENSOR_MAP = _control(
    "tensor_map",
    lambda *_, **__: ty.int64,
    "`, … ->` int64: where the copy engine finds what it must know of an array (its base, length and "
    "stride of each axis) and of the blocks it moves. `passed` names a descriptor of the launch.",
)
TENSOR_COPY = _control(
    "tensor_copy",
    _nothing,
    "`, , , , , … ->`: the copy engine starts to copy the box at some offsets of a map's array into "
    "a slot of a ring, if the scalar condition holds; the slot's barrier counts its bytes.",
)
TENSOR_STORE = _control(
    "tensor_store",
    _nothing,
    "`, m n, … ->`: the copy engine writes a block to the box at some offsets of a map's array.",
)
TENSOR_REDUCE = _control(
    "tensor_reduce",
    lambda _, block, *__, **___: block,
    "`, m n, … -> m n`: the copy engine combines a block with the box at some offsets of a map's "
    "array. What was there is told to nobody: the result has no users.",
)
PHASE_WAIT = _control(
    "phase_wait", _nothing, "`, , ->`: waits until all bytes of a slot have come, in this phase."
)
PHASES_END = _control("phases_end", _nothing, "`->`: the barriers are not used any more.")

PLACED: dict[str, Op] = {
    op.name: op
    for op in (
        CONVERT, RING, ASYNC_COPY, ASYNC_COMMIT, ASYNC_WAIT, SLOT, DOT_WAIT, PHASES, TENSOR_MAP,
        TENSOR_COPY, TENSOR_STORE, TENSOR_REDUCE, PHASE_WAIT, PHASES_END,
    )
}  # fmt: skip

"""Arrays of rows cut into batches of unequal length, read and written through one descriptor.

A descriptor drops what lies outside its shape, but its shape is fixed and the end of a batch is
not. So the ragged axis is given `ROWS` rows, and a coordinate that puts the end of the batch
exactly at row `ROWS`: rows past the batch are outside, and two further axes bring the address
back. With S the stride of a row the address is

    ROWS * (2^34 - S)  +  (offset + size) * S  +  (ROWS - size + row) * S   =   (offset + row) * S

where ROWS * 2^34 = 2^64 vanishes, because addresses wrap at 64 bits.
"""

from __future__ import annotations

from typing import Any

from blockstep import language as tl
from blockstep.language.function import jit
from blockstep.runtime.descriptor import TensorDescriptor

ROWS = 1 << 30
WRAP = 1 << 34
UNBOUNDED = 0x7FFF0000

constexpr: Any = tl.constexpr


def create_ragged_descriptor(T: Any, block_shape: Any, ragged_dim: int = 0) -> TensorDescriptor:
    """A descriptor of `T` whose blocks can be cut at the end of any batch of axis `ragged_dim`."""
    rank = len(T.shape)
    axis = ragged_dim % rank
    if axis == rank - 1:
        raise ValueError("the last axis cannot be ragged: its elements have to be contiguous")
    if rank > 3:
        raise ValueError(f"a ragged descriptor has at most 3 axes, not {rank}: two more are added")
    if len(block_shape) != rank:
        raise ValueError(f"the block has {len(block_shape)} axes, the array {rank}")
    if T.shape[axis] > ROWS:
        raise ValueError(f"a ragged axis has at most 2^30 rows, not {T.shape[axis]}")
    strides = [T.stride(i) for i in range(rank)]
    shape = [ROWS if i == axis else size for i, size in enumerate(T.shape)]
    return TensorDescriptor(
        T,
        [UNBOUNDED, UNBOUNDED, *shape],
        [WRAP - strides[axis], strides[axis], *strides],
        [1, 1, *block_shape],
    )


@jit
def to_ragged_indices(batch_offset: Any, batch_size: Any, row: Any) -> Any:
    """The three coordinates that stand for row `row` of the batch."""
    rows = 0x40000000
    return rows, batch_offset + batch_size, rows - batch_size + row


@jit
def load_ragged(
    TMA: Any, batch_offset: Any, batch_size: Any, coords: Any, ragged_dim: constexpr = 0
) -> Any:
    """The block at `coords` of the batch; rows past its end are zero."""
    tl.static_assert(
        len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor"
    )
    wrap, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = TMA.load([wrap, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :])
    return tl.reshape(block, block.shape[2:])


@jit
def store_ragged(
    TMA: Any, batch_offset: Any, batch_size: Any, coords: Any, data: Any, ragged_dim: constexpr = 0
) -> None:
    """Write `data` at `coords` of the batch; rows past its end are left alone."""
    wrap, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.store([wrap, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], block)


@jit
def atomic_add_ragged(
    TMA: Any, batch_offset: Any, batch_size: Any, coords: Any, data: Any, ragged_dim: constexpr = 0
) -> None:
    """Add `data` at `coords` of the batch atomically; rows past its end are left alone."""
    wrap, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.atomic_add([wrap, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], block)

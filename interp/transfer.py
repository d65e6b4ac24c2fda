"""`gather` and `scatter`: blocks out of a storage and into it.

Invariant: what is moved is bits; no value is converted (an int1 in memory is a byte, and any byte
but 0 is true). Lanes that are masked off may hold any address. Lanes that are not lie inside the
storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.footprint import Addresses, Flags

if TYPE_CHECKING:
    from blockstep.interp.memory import Storage

Block = np.ndarray[Any, Any]

_BOOL = np.dtype(bool)
_BYTE = np.dtype(np.uint8)
_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def gather(
    storage: Storage, addresses: Any, dtype: np.dtype[Any], mask: Any = None, fill: Any = None
) -> Any:
    """The elements at `addresses`; `fill` (a value or block; None: zeros) where `mask` is false.

    A scalar address gives a NumPy scalar, an array of addresses an array of its shape.
    """
    if dtype == _BOOL:
        fill = None if fill is None else np.asarray(fill, bool).view(_BYTE)
        return gather(storage, addresses, _BYTE, mask, fill) != 0
    if np.ndim(addresses) == 0:
        if mask is not None and not mask:
            return np.zeros((), dtype)[()] if fill is None else np.asarray(fill, dtype)[()]
        return _element(storage, int(addresses), dtype)
    offsets = addresses - storage.base
    typed, index = _index(storage, offsets, dtype)
    if typed is None:
        taken = _gather_bytes(storage, offsets, dtype, mask)
    elif mask is None:
        return typed.take(index)
    elif typed.size == 0:
        taken = np.zeros(offsets.shape, dtype)
    else:
        taken = typed.take(index, mode="clip")
    if mask is not None:
        np.copyto(taken, np.zeros((), dtype) if fill is None else fill, where=np.logical_not(mask))
    return taken


def scatter(storage: Storage, addresses: Any, values: Any, mask: Any = None) -> None:
    """Write `values` (a block, or one value) to `addresses`; where lanes meet, the last stays."""
    values = np.asarray(values)
    if values.dtype == _BOOL:
        values = values.view(_BYTE)
    if np.ndim(addresses) == 0:
        if mask is None or mask:
            _set_element(storage, int(addresses), values)
        return
    offsets = addresses - storage.base
    typed, index = _index(storage, offsets, values.dtype)
    if mask is not None:
        values = values[mask] if values.ndim else values
    if typed is None:
        _scatter_bytes(storage, offsets if mask is None else offsets[mask], values)
    elif mask is None:
        typed[index] = values
    else:
        typed[index[mask]] = values


def _index(
    storage: Storage, offsets: Addresses, dtype: np.dtype[Any]
) -> tuple[Block | None, Addresses]:
    """The typed storage and an index for each lane; no storage when lanes are misaligned."""
    size = dtype.itemsize
    if size == 1:
        return storage.typed(dtype), offsets
    if not int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1):
        return storage.typed(dtype), offsets >> _SHIFT[size]
    phase = int(offsets.flat[0]) & (size - 1)
    shifted = offsets - phase
    if int(np.bitwise_or.reduce(shifted, axis=None)) & (size - 1):
        return None, offsets
    return storage.typed(dtype, phase), shifted >> _SHIFT[size]


def _element(storage: Storage, address: int, dtype: np.dtype[Any]) -> Any:
    offset, size = address - storage.base, dtype.itemsize
    phase = offset & (size - 1)
    return storage.typed(dtype, phase)[(offset - phase) // size]


def _set_element(storage: Storage, address: int, value: Block) -> None:
    offset, size = address - storage.base, value.dtype.itemsize
    phase = offset & (size - 1)
    storage.typed(value.dtype, phase)[(offset - phase) // size] = value


def _gather_bytes(
    storage: Storage, offsets: Addresses, dtype: np.dtype[Any], mask: Flags | None
) -> Block:
    spread = offsets[..., None] + np.arange(dtype.itemsize)
    if mask is not None:
        spread = np.where(np.asarray(mask)[..., None], spread, 0)
    if storage.nbytes == 0:
        return np.zeros(offsets.shape, dtype)
    bits: Block = storage.data[spread].view(dtype)
    return bits[..., 0]


def _scatter_bytes(storage: Storage, offsets: Addresses, values: Block) -> None:
    wide = np.ascontiguousarray(np.broadcast_to(values, offsets.shape))
    spread = offsets[..., None] + np.arange(values.dtype.itemsize)
    storage.data[spread] = wide.view(_BYTE).reshape(spread.shape)

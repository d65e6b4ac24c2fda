"""Copies of everything a launch could write, to put back after a trial.

The unit is the storage, not the argument: overlapping views are saved once, and the padding
between the rows of a strided view is put back as well. What is reached only through an address
stored in memory is not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np


class Saved(Protocol):
    """One storage and its bytes at the time of the snapshot."""

    owner: Any

    def restore(self) -> None: ...

    def changed(self) -> bool: ...


class _Array:
    """A NumPy owner array."""

    def __init__(self, owner: np.ndarray[Any, Any]) -> None:
        self.owner = owner
        self.copy = owner.copy(order="K")

    def restore(self) -> None:
        np.copyto(self.owner, self.copy)

    def changed(self) -> bool:
        return self.owner.tobytes() != self.copy.tobytes()


class _Storage:
    """The storage of a PyTorch tensor, on whatever device it is."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.copy = owner.clone()

    def restore(self) -> None:
        self.owner.copy_(self.copy)

    def changed(self) -> bool:
        return bytes(self.owner) != bytes(self.copy)


class Snapshot:
    """What `values` held when this was made."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.saved: dict[int, Saved] = {}
        for array in arrays(values):
            self._save(array)

    def _save(self, array: Any) -> None:
        if isinstance(array, np.ndarray):
            owner = _owner(array)
            key = owner.__array_interface__["data"][0]
            if owner.flags.writeable and key not in self.saved:
                self.saved[key] = _Array(owner)
            return
        storage = array.untyped_storage()
        if storage.data_ptr() not in self.saved:
            self.saved[storage.data_ptr()] = _Storage(storage)

    def restore(self) -> None:
        """Put every storage back."""
        for saved in self.saved.values():
            saved.restore()

    def changed(self, array: Any) -> bool:
        """Whether the storage of `array` differs from the snapshot."""
        key = (
            _owner(array).__array_interface__["data"][0]
            if isinstance(array, np.ndarray)
            else array.untyped_storage().data_ptr()
        )
        return key in self.saved and self.saved[key].changed()


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def arrays(values: Iterable[Any]) -> Iterator[Any]:
    """The NumPy arrays and PyTorch tensors in `values`: inside tuples, lists, wrappers and
    descriptors too."""
    torch = sys.modules.get("torch")
    for value in values:
        if isinstance(value, np.ndarray) or (torch is not None and isinstance(value, torch.Tensor)):
            yield value
        elif isinstance(value, tuple | list):
            yield from arrays(value)
        elif hasattr(value, "base") and not isinstance(value, type):
            yield from arrays([value.base])

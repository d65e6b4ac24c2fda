"""Who owns an array's memory: from a view to the whole storage behind it.

Invariant: `memory_of` copies nothing, and two arrays over the same memory lead to the same owner
wherever Python lets us see it (NumPy's `.base`, torch's storage, the object behind a buffer). Where
it does not, the two are different memories that overlap, and `AddressSpace` makes one storage of
them.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def torch_module() -> Any:
    """torch, if the program has imported it (and is not in the middle of doing so)."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "UntypedStorage") and hasattr(torch, "Tensor") else None


def is_torch_tensor(x: Any) -> bool:
    """Whether `x` is a torch tensor; torch is not imported to find out."""
    torch = torch_module()
    return torch is not None and isinstance(x, torch.Tensor)


@dataclass(frozen=True, slots=True)
class Memory:
    """A stretch of memory and the object that keeps it alive."""

    base: int
    nbytes: int
    owner: Any
    readonly: bool = False

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + self.nbytes

    def weakly(self, when_gone: Callable[[Any], None]) -> Callable[[], Any] | None:
        """A function that gives the owner while it lives; None when the owner cannot be watched."""
        if _is_torch_storage(self.owner):
            return _TorchWatch(self.owner)
        try:
            return weakref.ref(self.owner, when_gone)
        except TypeError:
            return None


class _TorchWatch:
    """A torch storage, seen without keeping its memory."""

    __slots__ = ("_free", "_handle", "_kind")

    def __init__(self, storage: Any) -> None:
        self._kind = type(storage)
        self._free = self._kind._free_weak_ref
        self._handle = storage._weak_ref()

    def __call__(self) -> Any:
        return (
            None
            if self._kind._expired(self._handle)
            else self._kind._new_with_weak_ptr(self._handle)
        )

    def __del__(self) -> None:
        self._free(self._handle)


def memory_of(array: Any) -> Memory:
    """The whole memory behind a NumPy array, a torch tensor or storage, or a buffer."""
    if isinstance(array, np.ndarray):
        return _numpy_memory(array)
    if is_torch_tensor(array):
        return _torch_memory(array.untyped_storage())
    if _is_torch_storage(array):
        return _torch_memory(array)
    return _buffer_memory(array)


def _is_torch_storage(x: Any) -> bool:
    torch = torch_module()
    return torch is not None and isinstance(x, torch.UntypedStorage)


def _torch_memory(storage: Any) -> Memory:
    return Memory(storage.data_ptr(), storage.nbytes(), storage)


def _numpy_memory(array: np.ndarray[Any, Any]) -> Memory:
    top = owner_array(array)
    base = top.base
    lo, hi = np.lib.array_utils.byte_bounds(top)
    here = Memory(
        lo, hi - lo if top.size else 0, top, readonly=base is not None and not top.flags.writeable
    )
    if base is None:
        return here
    if is_torch_tensor(base):
        return memory_of(base)
    try:
        whole = _buffer_memory(base)
    except (TypeError, BufferError, ValueError):
        return here
    if not (whole.base <= here.base and here.end <= whole.end):
        return here
    if isinstance(whole.owner, np.ndarray):
        return whole
    return Memory(
        whole.base,
        whole.nbytes,
        top if _is_unwatchable(whole.owner) else whole.owner,
        whole.readonly,
    )


def owner_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array at the end of the `.base` chain, also through `as_strided`."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):  # as_strided puts an object of its own in between
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _is_unwatchable(owner: Any) -> bool:
    return getattr(type(owner), "__weakrefoffset__", 0) == 0


def _buffer_memory(x: Any) -> Memory:
    """The memory behind an object with a buffer; through memoryviews to what they show."""
    with memoryview(x) as seen:
        inner = seen.obj
        if isinstance(inner, np.ndarray) and inner is not x:
            return _numpy_memory(inner)
        if isinstance(x, memoryview) and inner is not None and inner is not x:
            return _buffer_memory(inner)
        return Memory(_address(seen), seen.nbytes, x, seen.readonly)


def _address(seen: memoryview) -> int:
    return int(np.frombuffer(seen, np.uint8).ctypes.data)

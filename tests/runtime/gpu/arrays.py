"""Arrays in the memory of a driver on paper, as other libraries would pass them."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.gpu.recording import Recording


def at(address: int, shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """The memory at an address as an array."""
    count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
    raw = (ctypes.c_uint8 * (count * size)).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)


class OnDevice:
    """An object with `__cuda_array_interface__` and nothing else."""

    def __init__(self, api: Recording, array: Any, stream: int | None = None) -> None:
        array = np.asarray(array)
        self._address = int(api.do_cuMemAlloc(max(array.nbytes, 1)))
        self._array = at(self._address, array.shape, array.dtype)
        self._array[...] = array
        self.__cuda_array_interface__ = {
            "data": (self._address, False), "shape": array.shape, "typestr": array.dtype.str,
            "strides": None, "version": 3, "stream": stream,
        }  # fmt: skip

    def tolist(self) -> Any:
        return self._array.tolist()


class CupyArray(OnDevice):
    """An array of the library that `cupy` is here."""

    def __init__(self, api: Recording, array: Any) -> None:
        super().__init__(api, array)
        self.data = SimpleNamespace(ptr=self._address)
        self.dtype = self._array.dtype
        self.device = SimpleNamespace(id=api.memory[self._address][0])


def install_cupy(monkeypatch: pytest.MonkeyPatch, stream: int) -> None:
    """Let CuPy be loaded, with a current stream."""
    cupy: Any = ModuleType("cupy")
    cupy.ndarray = CupyArray
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=stream))
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)


class Storage:
    """What torch calls an untyped storage."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.data_ptr, self.nbytes = lambda: address, lambda: nbytes
        self._weak_ref, self._address = lambda: address, address

    def clone(self) -> np.ndarray[Any, Any]:
        return at(self._address, self.nbytes(), np.uint8).copy()

    def copy_(self, saved: np.ndarray[Any, Any]) -> None:
        at(self._address, self.nbytes(), np.uint8)[:] = saved

    @classmethod
    def _free_weak_ref(cls, handle: int) -> None: ...

    @classmethod
    def _expired(cls, handle: int) -> bool:
        return False


class Tensor:
    """A tensor of torch, as far as launches look at it."""

    is_cuda, is_quantized, _base, layout = True, False, None, "strided"

    def __init__(self, api: Recording, array: Any) -> None:
        self.array = OnDevice(api, array)
        self._address, self._size = self.array._address, self.array._array.nbytes
        self._device = api.memory[self._address][0]
        self.dtype = self.array._array.dtype
        self.shape = self.array._array.shape
        self.device = SimpleNamespace(type="cuda", index=self._device)

    def data_ptr(self) -> int:
        return self._address

    def get_device(self) -> int:
        return self._device

    def element_size(self) -> int:
        return int(self.dtype.itemsize)

    def stride(self) -> Any:
        return tuple(s // self.dtype.itemsize for s in self.array._array.strides)

    def untyped_storage(self) -> Storage:
        return Storage(self._address, self._size)

    def tolist(self) -> Any:
        return self.array.tolist()


def install_torch(monkeypatch: pytest.MonkeyPatch, streams: Any) -> None:
    """Let torch be loaded, with CUDA in use; `streams` gives the current stream of a device."""
    torch: Any = ModuleType("torch")
    torch.Tensor, torch.UntypedStorage, torch.strided = Tensor, Storage, "strided"
    torch.cuda = SimpleNamespace(is_initialized=lambda: True)
    torch._C = SimpleNamespace(_cuda_getCurrentRawStream=streams)
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)

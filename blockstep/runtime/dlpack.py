"""Reading what an object exports through DLPack, for the types that NumPy's own reader refuses.

Invariant: the capsule is kept and never consumed, so the exporter's memory lives as long as the
`Exported` and is released by the capsule. Layout of the structures: DLPack 1.1, `dlpack.h`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from blockstep.interp.memory import contiguous_strides
from blockstep.language import types
from blockstep.runtime.refusal import ArgumentError

_CPU_DEVICES = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_READ_ONLY = 1

# (type code, bits) -> type
_TYPES: dict[tuple[int, int], types.dtype] = {
    **{(0, bits): types.get_int_dtype(bits, True) for bits in (8, 16, 32, 64)},
    **{(1, bits): types.get_int_dtype(bits, False) for bits in (8, 16, 32, 64)},
    (2, 16): types.float16,
    (2, 32): types.float32,
    (2, 64): types.float64,
    (4, 16): types.bfloat16,
    (6, 8): types.int1,
    (10, 8): types.float8e4nv,
    (11, 8): types.float8e4b8,
    (12, 8): types.float8e5,
    (13, 8): types.float8e5b16,
}


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, slots=True)
class Exported:
    """An array somebody else owns: its place, type and layout, and the object that keeps it."""

    base: int
    element: types.dtype
    shape: tuple[int, ...]
    byte_strides: tuple[int, ...]
    itemsize: int
    writeable: bool
    owner: Any
    on_device: bool


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def export(x: Any, name: str) -> Exported:
    """What `x.__dlpack__()` exports. Raises ArgumentError for a device or type not taken."""
    capsule, tensor, flags = _open(_capsule(x))
    device = tensor.device.type
    if device not in _CPU_DEVICES + _CUDA_DEVICES:
        raise ArgumentError(
            name,
            f"an array on device type {device} of DLPack",
            accepted="CPU and CUDA arrays",
            fix="copy it to the CPU",
        )
    kind = tensor.dtype
    element = _TYPES.get((kind.code, kind.bits)) if kind.lanes == 1 else None
    if element is None:
        raise ArgumentError(
            name,
            f"an array of DLPack type {kind.code} with {kind.bits} bits x {kind.lanes}",
            accepted="integers, floats of 8 to 64 bits and bool",
            fix="convert it first",
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (
        tuple(tensor.strides[i] for i in range(tensor.ndim))
        if tensor.strides
        else contiguous_strides(shape)
    )
    size = element.itemsize
    return Exported(
        (tensor.data or 0) + tensor.byte_offset,
        element,
        shape,
        tuple(s * size for s in strides),
        size,
        not flags & _READ_ONLY,
        (capsule, x),
        device in _CUDA_DEVICES,
    )


def _capsule(x: Any) -> Any:
    try:
        return x.__dlpack__(max_version=(1, 1))
    except TypeError:  # exporters before DLPack 1.0 do not know the keyword
        return x.__dlpack__()


def _open(capsule: Any) -> tuple[Any, _Tensor, int]:
    if _is_valid(capsule, b"dltensor_versioned"):
        whole = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        return capsule, whole.tensor, int(whole.flags)
    return capsule, _Tensor.from_address(_get_pointer(capsule, b"dltensor")), 0

"""Host arrays as views of memory: NumPy, torch, DLPack, CUDA arrays, stand-ins with `data_ptr()`.

Invariant: no element is copied or converted for memory that the host can reach; device memory goes
through `device_memory`. A refusal names the argument, what was passed, what would do, and the fix.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from blockstep.interp.footprint import Footprint
from blockstep.interp.memory import AddressSpace, Storage, View, contiguous_strides
from blockstep.interp.owners import Memory, is_torch_tensor, memory_of, owner_array, torch_module
from blockstep.language import types
from blockstep.runtime.device_memory import DeviceArrays
from blockstep.runtime.dlpack import Exported, export
from blockstep.runtime.refusal import ArgumentError

if TYPE_CHECKING:
    from blockstep.findings import Span

_BY_NUMPY: dict[np.dtype[Any], types.dtype] = {
    np.dtype(numpy): ours
    for numpy, ours in (
        (np.bool_, types.int1),
        (np.int8, types.int8),
        (np.int16, types.int16),
        (np.int32, types.int32),
        (np.int64, types.int64),
        (np.uint8, types.uint8),
        (np.uint16, types.uint16),
        (np.uint32, types.uint32),
        (np.uint64, types.uint64),
        (np.float16, types.float16),
        (np.float32, types.float32),
        (np.float64, types.float64),
        (ml_dtypes.bfloat16, types.bfloat16),
        (ml_dtypes.float8_e4m3fn, types.float8e4nv),
        (ml_dtypes.float8_e4m3fnuz, types.float8e4b8),
        (ml_dtypes.float8_e5m2, types.float8e5),
        (ml_dtypes.float8_e5m2fnuz, types.float8e5b16),
    )
}
_BY_NAME = {str(numpy): ours for numpy, ours in _BY_NUMPY.items()}
ACCEPTED = (
    "bool, int8..int64, uint8..uint64, float16, bfloat16, float32, float64 and the 8-bit floats"
)


@dataclass(slots=True)
class Binding:
    """What the arguments of one launch share while they are bound."""

    space: AddressSpace = field(default_factory=AddressSpace)
    devices: DeviceArrays = field(default_factory=DeviceArrays)
    passed_at: Span | None = None


def is_array(x: Any) -> bool:
    """Whether `x` is passed as a pointer."""
    return (
        isinstance(x, np.ndarray)
        or is_torch_tensor(x)
        or hasattr(x, "__cuda_array_interface__")
        or (not isinstance(x, np.generic) and hasattr(x, "__dlpack__"))
        or callable(getattr(x, "data_ptr", None))
        or (not isinstance(x, np.generic) and hasattr(x, "__array_interface__"))
        or isinstance(x, (memoryview, array, ctypes.Array))
    )


def view_of(x: Any, name: str, binding: Binding) -> View:
    """The view that an array argument is."""
    if is_torch_tensor(x):
        view = _torch_view(x, name, binding)
    elif isinstance(x, np.ndarray):
        view = _numpy_view(x, name, binding)
    elif hasattr(x, "__cuda_array_interface__"):
        view = _cuda_view(x, name, binding)
    elif hasattr(x, "__dlpack__"):
        view = _exported_view(export(x, name), name, binding)
    elif callable(getattr(x, "data_ptr", None)):
        view = _pointer_view(x, name, binding)
    else:
        view = _numpy_view(np.asarray(x), name, binding)
    view.passed_at = binding.passed_at
    binding.space.views.append(view)
    return view


def element_type(dtype: Any, name: str) -> types.dtype:
    """The language's type for the dtype of an array (NumPy's, torch's, or our own)."""
    if isinstance(dtype, types.dtype):
        return dtype
    if isinstance(dtype, np.dtype):
        found = _BY_NUMPY.get(dtype)
        if found is None and not dtype.isnative:
            raise ArgumentError(
                name,
                f"an array of {dtype.newbyteorder('=')} in the byte order of another machine",
                fix=f"{name}.astype({name}.dtype.newbyteorder('='))",
            )
    else:
        found = _BY_NAME.get(str(dtype).removeprefix("torch."))
    if found is None:
        raise ArgumentError(
            name, f"an array of {_plain(dtype)}", accepted=ACCEPTED, fix=_dtype_fix(name, dtype)
        )
    return found


def _plain(dtype: Any) -> str:
    kind = getattr(dtype, "kind", "")
    words = {
        "O": "Python objects",
        "M": "dates",
        "m": "time differences",
        "V": "records",
        "U": "text",
        "S": "text",
    }
    return words.get(kind, str(dtype).removeprefix("torch."))


def _dtype_fix(name: str, dtype: Any) -> str:
    text = str(dtype)
    if "complex" in text:
        return f"pass {name}.real and {name}.imag, or a float view whose last dimension is 2"
    if getattr(dtype, "kind", "") == "V" and getattr(dtype, "names", None):
        return f"pass one field: {name}[{dtype.names[0]!r}]"
    return f"convert it first, e.g. {name}.astype(numpy.float32)"


def _numpy_view(x: np.ndarray[Any, Any], name: str, binding: Binding) -> View:
    if isinstance(x, np.ma.MaskedArray):
        raise ArgumentError(
            name, "a masked array", accepted="plain arrays", fix=f"{name}.filled(0)"
        )
    element = element_type(x.dtype, name)
    storage = binding.space.add_array(x, name)
    base, itemsize = x.__array_interface__["data"][0], x.itemsize
    strides = tuple(s // itemsize for s in x.strides)
    view = View(
        storage,
        name,
        element,
        base,
        x.shape,
        strides,
        byte_strides=x.strides,
        writeable=x.flags.writeable,
    )
    top = owner_array(x)
    if top is not x:
        view.follow(
            Footprint(top.ctypes.data, top.shape, top.strides, top.itemsize),
            _in(top.strides, top.itemsize),
        )
    lo, hi = view.extent()
    if lo < hi and not (storage.base <= lo and hi <= storage.end):
        raise ArgumentError(
            name,
            "a strided view that reaches past the memory of the array behind it",
            fix="check the shape and strides given to as_strided",
        )
    return view


def _in(strides: Sequence[int], itemsize: int) -> list[int]:
    return [s // itemsize for s in strides]


def _torch_view(x: Any, name: str, binding: Binding) -> View:
    torch = torch_module()
    if x.layout != torch.strided:
        raise ArgumentError(
            name,
            f"a sparse tensor ({x.layout})",
            accepted="strided tensors",
            fix=_sparse_fix(name, x),
        )
    if x.device.type == "meta" or type(x).__name__ in ("FakeTensor", "FunctionalTensor"):
        raise ArgumentError(
            name,
            "a tensor without data (meta device)",
            fix=f"torch.empty_like({name}, device='cpu')",
        )
    if x.is_quantized:
        raise ArgumentError(
            name, f"a quantised tensor ({x.dtype})", accepted=ACCEPTED, fix=f"{name}.int_repr()"
        )
    element = element_type(x.dtype, name)
    base, strides = x.data_ptr(), x.stride()
    storage = _torch_storage(x, name, binding)
    view = View(storage, name, element, base, tuple(x.shape), strides, itemsize=x.element_size())
    behind = x._base
    if behind is not None and behind.layout == torch.strided:
        size, steps = behind.element_size(), behind.stride()
        view.follow(
            Footprint(behind.data_ptr(), behind.shape, [s * size for s in steps], size), steps
        )
    return view


def _sparse_fix(name: str, x: Any) -> str:
    return f"{name}.to_dense(), or pass {name}.values() and its indices"


def _torch_storage(x: Any, name: str, binding: Binding) -> Storage:
    if x.device.type == "cpu":
        return binding.space.add_array(x, name)
    if x.device.type != "cuda":
        raise ArgumentError(
            name, f"a tensor on {x.device}", accepted="CPU and CUDA tensors", fix=f"{name}.cpu()"
        )
    memory = memory_of(x)
    return binding.devices.storage(memory, name, binding.space, None)


def _cuda_view(x: Any, name: str, binding: Binding) -> View:
    told = x.__cuda_array_interface__
    dtype = np.dtype(told["typestr"])
    if told.get("mask") is not None:
        raise ArgumentError(
            name, "an array with a mask", accepted="plain arrays", fix="pass data and mask apart"
        )
    shape = tuple(told["shape"])
    steps = told.get("strides") or [s * dtype.itemsize for s in contiguous_strides(shape)]
    base, readonly = told["data"]
    exported = Exported(
        base, element_type(dtype, name), shape, tuple(steps), dtype.itemsize, not readonly, x, True
    )
    return _exported_view(exported, name, binding, told.get("stream"))


def _exported_view(x: Exported, name: str, binding: Binding, stream: int | None = None) -> View:
    bounds = Footprint(x.base, x.shape, x.byte_strides, x.itemsize)
    memory = Memory(bounds.lo, bounds.hi - bounds.lo, x.owner)
    if x.on_device:
        storage = binding.devices.storage(memory, name, binding.space, stream)
    else:
        storage = binding.space.add(Storage(memory, name))
    strides = tuple(s // x.itemsize for s in x.byte_strides)
    return View(
        storage, name, x.element, x.base, x.shape, strides,
        itemsize=x.itemsize, byte_strides=x.byte_strides, writeable=x.writeable,
    )  # fmt: skip


def _pointer_view(x: Any, name: str, binding: Binding) -> View:
    """Objects with `data_ptr()` and `dtype`: a tensor seen as another type, or a stand-in."""
    element = element_type(x.dtype, name)
    inner = getattr(x, "base", None)
    if inner is not None and is_array(inner):
        view = view_of(inner, name, binding)
        binding.space.views.remove(view)
        if view.itemsize != element.itemsize:
            raise ArgumentError(
                name,
                f"{view.dtype} memory seen as {element}, whose elements have another size",
                fix="reinterpret between types of one size",
            )
        view.dtype = element
        return view
    address = int(x.data_ptr())
    storage = binding.space.find(address)
    rest = (storage.end - address) // element.itemsize if storage is not None else 0
    shape = tuple(getattr(x, "shape", (rest,)))
    strides = (
        tuple(x.stride()) if callable(getattr(x, "stride", None)) else contiguous_strides(shape)
    )
    return View(
        storage,
        name,
        element,
        address,
        shape,
        strides,
        itemsize=element.itemsize,
    )

"""Array stand-ins of the host side: a buffer seen as another element type, and a type without a
buffer.

`TensorWrapper` is how an int8 buffer is passed as fp8, or an int16 one as uint16; `MockTensor` is
what `kernel.warmup` takes where only the type matters. Neither copies or converts anything.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from blockstep.language import types as lt

POINTER_ALIGNMENT = 16


class MockTensor:
    """A tensor of `dtype` that has no memory: for warm-ups."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = list(shape) if shape is not None else [1]

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """`arg`, or a MockTensor if it is a dtype (torch's or the language's)."""
        torch = sys.modules.get("torch")
        is_dtype = isinstance(arg, lt.dtype) or (torch is not None and isinstance(arg, torch.dtype))
        return MockTensor(arg) if is_dtype else arg

    def stride(self) -> tuple[int, ...]:
        """Strides of a row-major tensor of this shape."""
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr() -> int:
        """The null address, which is aligned to everything."""
        return 0

    @staticmethod
    def ptr_range() -> int:
        return 0


class TensorWrapper:
    """`base` seen as elements of `dtype`, without a copy."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype
        self.is_cuda = getattr(base, "is_cuda", False)
        self.device = getattr(base, "device", "cpu")
        self.shape = base.shape
        self.data = base

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(
            self.base.data_ptr() if hasattr(self.base, "data_ptr") else self.base.ctypes.data
        )

    def stride(self, *axis: int) -> Any:
        """Strides in elements, or the one of `axis`."""
        if hasattr(self.base, "stride"):
            return self.base.stride(*axis)
        strides = tuple(s // self.base.itemsize for s in self.base.strides)
        return strides[axis[0]] if axis else strides

    def element_size(self) -> int:
        """Bytes of one element."""
        base = self.base
        return int(base.element_size() if hasattr(base, "element_size") else base.itemsize)

    def numel(self) -> int:
        """Number of elements."""
        return int(self.base.numel() if hasattr(self.base, "numel") else self.base.size)

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def clone(self) -> TensorWrapper:
        copy = self.base.clone() if hasattr(self.base, "clone") else self.base.copy()
        return TensorWrapper(copy, self.dtype)

    def copy_(self, other: TensorWrapper) -> TensorWrapper:
        """Overwrite the elements with those of `other`."""
        if hasattr(self.base, "copy_"):
            self.base.copy_(other.base)
        else:
            self.base[...] = other.base
        return self

    def zero_(self) -> TensorWrapper:
        """Overwrite the elements with zeros."""
        self.base[...] = 0
        return self

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """`tensor` seen as elements of `dtype`, or the tensor itself if that is its own type."""
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if dtype == base.dtype:
        return base
    if (
        isinstance(tensor, TensorWrapper)
        or hasattr(base, "data_ptr")
        or hasattr(base, "__array_interface__")
    ):
        return TensorWrapper(base, dtype)
    raise TypeError(f"cannot reinterpret a {type(tensor).__name__}")

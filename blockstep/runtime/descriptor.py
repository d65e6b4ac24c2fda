"""`TensorDescriptor`, the host's way to say which part of an array a kernel moves block by block.

Invariant: a descriptor that exists is one that the hardware could take (`cuTensorMapEncodeTiled`:
16-byte aligned base and strides, last dimension contiguous, at most 5 dimensions). What is wrong
raises AssertionError, as Triton's does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockstep.language.types import TRITON_MAX_TENSOR_NUMEL
from blockstep.runtime.arrays import element_type, is_array

ALIGNMENT = 16  # bytes
MOST_DIMENSIONS = 5
_WITHOUT_DATA = ("FakeTensor", "FunctionalTensor")


@dataclass
class TensorDescriptor:
    """`base` seen with `shape` and `strides` (in elements), moved in blocks of `block_shape`."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        self._check_rank()
        self._check_block()
        self._check_layout()
        _require(
            self.padding in ("zero", "nan"), f"padding is 'zero' or 'nan', not {self.padding!r}"
        )
        if self.padding == "nan":
            kind = element_type(self.base.dtype, "base")
            _require(kind.is_floating(), f"padding with nan needs floats; the base holds {kind}")

    def _check_rank(self) -> None:
        rank = len(self.shape)
        _require(
            0 < rank <= MOST_DIMENSIONS,
            f"a descriptor has 1 to {MOST_DIMENSIONS} dimensions, not {rank}",
        )
        for what, given in (("strides", self.strides), ("block_shape", self.block_shape)):
            _require(
                len(given) == rank,
                f"rank mismatch: shape has {rank} dimensions, {what} has {len(given)}",
            )

    def _check_block(self) -> None:
        numel = 1
        for axis, n in enumerate(self.block_shape):
            whole = isinstance(n, int) and n > 0 and n & (n - 1) == 0
            _require(whole, f"block_shape[{axis}] must be a power of 2, but it is {n!r}")
            numel *= n
        _require(
            numel <= TRITON_MAX_TENSOR_NUMEL,
            f"a block of {numel} elements; {TRITON_MAX_TENSOR_NUMEL} are allowed",
        )

    def _check_layout(self) -> None:
        size = element_type(self.base.dtype, "base").itemsize
        if type(self.base).__name__ not in _WITHOUT_DATA:
            _require(
                is_array(self.base),
                f"the base of a descriptor is an array, not {type(self.base).__name__}",
            )
            _require(
                address_of(self.base) % ALIGNMENT == 0, f"base must be {ALIGNMENT}-byte aligned"
            )
        for axis, stride in enumerate(self.strides[:-1]):
            text = f"strides must be {ALIGNMENT}-byte aligned: {axis} is {stride} x {size} bytes"
            _require(stride * size % ALIGNMENT == 0, text)
        _require(
            self.strides[-1] == 1,
            f"last dimension must be contiguous; its stride is {self.strides[-1]}",
        )
        for axis, n in enumerate(self.shape):
            _require(n > 0, f"shape must be positive: shape[{axis}] is {n}")

    @staticmethod
    def from_tensor(
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """A descriptor of a whole tensor or NumPy array."""
        strides = _strides_of(tensor)
        return TensorDescriptor(
            tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32
        )


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def address_of(array: Any) -> int:
    """The address of the first element."""
    if callable(getattr(array, "data_ptr", None)):
        return int(array.data_ptr())
    told = getattr(array, "__cuda_array_interface__", None) or getattr(
        array, "__array_interface__", None
    )
    return int(told["data"][0]) if told else 0


def _strides_of(array: Any) -> Sequence[int]:
    if callable(getattr(array, "stride", None)):
        return tuple(array.stride())
    return tuple(s // array.dtype.itemsize for s in array.strides)

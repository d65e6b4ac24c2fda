"""Tensor descriptors in a kernel: what the Tensor Memory Accelerator moves, block by block.

Loads outside of the array give the padding, stores there are dropped. A descriptor is made on the
host (`TensorDescriptor`) or in the kernel (`make_tensor_descriptor`).
"""

from __future__ import annotations

from typing import Any

from blockstep.language import types as ty
from blockstep.language.blockpointer import scalars
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.creation import block_shape as shape_of
from blockstep.language.creation import scalar_constant
from blockstep.language.memory import load_pointers, store_pointers
from blockstep.language.op import emit
from blockstep.language.ops.box import BOX_MASK, BOX_POINTERS
from blockstep.language.ops.cast import ROUND_TF32
from blockstep.language.promotion import broadcast_to, constant, to_tensor
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

LEAST_BYTES = 16  # of a block's last dimension
LEAST_ROWS = 8  # of a gather or scatter
_ATOMIC_TYPES = {
    "add": ("uint32", "int32", "uint64", "fp32", "fp16", "bf16"),
    "min": ("uint32", "int32", "uint64", "int64", "fp16", "bf16"),
    "max": ("uint32", "int32", "uint64", "int64", "fp16", "bf16"),
    "and": ("uint32", "int32", "uint64", "int64"),
    "or": ("uint32", "int32", "uint64", "int64"),
    "xor": ("uint32", "int32", "uint64", "int64"),
}
_OPTIONS: dict[str, Any] = {"cache": "", "eviction": ""}


class tensor_descriptor:
    """An array that is moved in blocks: `load`, `store`, `gather`, `scatter`, atomics."""

    __blockstep_value__ = True

    def __init__(
        self,
        base: tensor,
        shape: tuple[tensor, ...],
        strides: tuple[tensor, ...],
        block: ty.block_type,
        padding: str,
        round_to_tf32: bool = False,
    ) -> None:
        self.base = base
        self.shape, self.strides = tl_tuple(shape), tl_tuple(strides)
        self.padding, self.round_to_tf32 = padding, round_to_tf32
        self.block_type = block
        self.type = ty.tensor_descriptor_type(block)

    @property
    def block_shape(self) -> tuple[int, ...]:
        return self.block_type.shape

    @property
    def dtype(self) -> ty.dtype:
        """The element type."""
        return self.block_type.element_ty

    @property
    def nbytes(self) -> int:
        return self.block_type.nbytes

    def __repr__(self) -> str:
        view = self.base.origin
        name = view.name if view is not None and not isinstance(view, tuple) else "memory"
        return f"<descriptor of {name}, blocks {self.block_type}>"

    def _place(self, offsets: Any) -> tuple[tensor, tensor]:
        """The pointers of the block at `offsets` and which of them lie inside the array."""
        places = scalars(offsets, ty.int32, "offsets")
        dims = self.block_shape
        if len(places) != len(dims):
            raise ValueError(f"expected {len(dims)} offsets, but got {len(places)}")
        told = {"shape": dims, "itemsize": self.dtype.itemsize, "described": True}
        pointers = emit(BOX_POINTERS, self.base, *places, *self.strides, **told)
        mask = emit(BOX_MASK, *places, *self.shape, axes=tuple(range(len(dims))), shape=dims)
        return pointers, mask

    def _fill(self, shape: tuple[int, ...]) -> tensor:
        number = float("nan") if self.padding == "nan" else 0
        return broadcast_to(constant(number, self.dtype), shape)

    def _loaded(self, pointers: tensor, mask: tensor) -> Any:
        block = load_pointers(
            pointers, mask, self._fill(pointers.type.shape), {**_OPTIONS, "volatile": False}
        )
        if self.round_to_tf32 and self.dtype is ty.float32:
            return emit(ROUND_TF32, block)
        return block

    def load(self, offsets: Any) -> Any:
        """`-> block_shape`: the block at `offsets` (elements along each axis)."""
        return self._loaded(*self._place(offsets))

    def store(self, offsets: Any, value: Any) -> Any:
        """Writes a block at `offsets`, cast to the element type."""
        return store_pointers(*self._checked(offsets, value), _OPTIONS)

    def _checked(self, offsets: Any, value: Any) -> tuple[tensor, tensor, tensor]:
        value = to_tensor(value)
        if value.shape != self.block_shape:
            raise ValueError(
                f"the block to store has shape {list(value.shape)}, the descriptor's blocks "
                f"have {list(self.block_shape)}"
            )
        pointers, mask = self._place(offsets)
        return pointers, cast(value, self.dtype), mask

    def _atomic(self, name: str, offsets: Any, value: Any) -> None:
        if self.dtype.name not in _ATOMIC_TYPES[name]:
            raise TypeError(f"a descriptor's atomic_{name} does not support {self.dtype}")
        pointers, block, mask = self._checked(offsets, value)
        _combine_any(name, pointers, block, mask)

    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Adds a block at `offsets`."""
        self._atomic("add", offsets, value)

    def atomic_min(self, offsets: Any, value: Any) -> None:
        """Keeps the lesser elements at `offsets`."""
        self._atomic("min", offsets, value)

    def atomic_max(self, offsets: Any, value: Any) -> None:
        """Keeps the greater elements at `offsets`."""
        self._atomic("max", offsets, value)

    def atomic_and(self, offsets: Any, value: Any) -> None:
        """Bitwise and at `offsets`."""
        self._atomic("and", offsets, value)

    def atomic_or(self, offsets: Any, value: Any) -> None:
        """Bitwise or at `offsets`."""
        self._atomic("or", offsets, value)

    def atomic_xor(self, offsets: Any, value: Any) -> None:
        """Bitwise exclusive or at `offsets`."""
        self._atomic("xor", offsets, value)

    def _rows(self, x_offsets: Any, y_offset: Any, what: str) -> tuple[tensor, tensor]:
        """Pointers and mask of whole rows `x_offsets`, from column `y_offset` on."""
        from blockstep.language.creation import arange

        dims = self.block_shape
        if len(dims) != 2 or dims[0] != 1:
            raise ValueError(f"descriptor {what} needs blocks of shape [1, n], not {list(dims)}")
        if len(x_offsets.shape) != 1:
            raise ValueError(f"x offsets must be 1D, but got {list(x_offsets.shape)}")
        if x_offsets.shape[0] < LEAST_ROWS:
            raise ValueError(
                f"descriptor {what} must have at least {LEAST_ROWS} rows, but got "
                f"{x_offsets.shape[0]}"
            )
        least = 32 // self.dtype.primitive_bitwidth * 8
        if dims[1] < least:
            raise ValueError(
                f"descriptor {what} of {self.dtype} must have at least {least} columns, "
                f"but got {dims[1]}"
            )
        (column,) = scalars([y_offset], ty.int32, "offsets")
        rows = cast(x_offsets, ty.int64)[:, None]
        columns = (cast(column, ty.int64) + cast(arange(0, dims[1]), ty.int64))[None, :]
        inside = (rows >= 0) & (rows < self.shape[0]) & (columns >= 0) & (columns < self.shape[1])
        return self.base + (rows * self.strides[0] + columns * self.strides[1]), inside

    def gather(self, x_offsets: Any, y_offset: Any) -> Any:
        """`m -> m n`: the rows `x_offsets`, n columns from `y_offset` on."""
        return self._loaded(*self._rows(x_offsets, y_offset, "gather"))

    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Writes the rows of `value` to the rows `x_offsets`, from column `y_offset` on."""
        pointers, mask = self._rows(x_offsets, y_offset, "scatter")
        if value.shape != pointers.shape:
            raise ValueError(f"the block to scatter is {value.type}, not {list(pointers.shape)}")
        store_pointers(pointers, cast(value, self.dtype), mask, _OPTIONS)


def _combine_any(name: str, pointers: tensor, block: tensor, mask: tensor) -> None:
    """Descriptor atomics take 16-bit floats for min and max, which pointer atomics do not."""
    from blockstep.language.ops.memory import ATOMIC_RMW

    emit(ATOMIC_RMW, pointers, block, mask, combine=name, sem="relaxed", scope="gpu")


def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> tensor_descriptor:
    """A descriptor of the array at `base`.

    1 to 5 dimensions; the last stride is 1 and the last block dimension has at least 16 bytes.
    Raises ValueError where the hardware could not take it."""
    if not isinstance(base, tensor) or not base.type.is_ptr():
        raise ValueError(f"a descriptor's base is a scalar pointer, not {base!r}")
    dims = shape_of(block_shape)
    rank = len(dims)
    if not 1 <= rank <= 5:
        raise ValueError(f"Expected 1 <= ndim <= 5 but got {rank} dimensions")
    if len(shape) != rank or len(strides) != rank:
        raise ValueError(f"Expected {rank} strides but got {len(strides)}, shape {len(shape)}")
    element = base.type.element_ty  # type: ignore[attr-defined]
    last = dims[-1] * element.itemsize
    if last < LEAST_BYTES:
        raise ValueError(
            "Descriptor block shape must have at least 16 bytes in the last dimension, but got "
            f"{dims[-1]} * {element.itemsize} = {last} bytes"
        )
    last_stride = unwrap(strides[-1])
    if last_stride != 1 if isinstance(last_stride, int) else True:
        raise ValueError(f"Tensor descriptor last dim must be 1 but got {strides[-1]}")
    padding = unwrap(padding_option)
    if padding not in ("zero", "nan"):
        raise ValueError(f"padding_option is 'zero' or 'nan', not {padding!r}")
    if element.is_int() and padding == "nan":
        raise ValueError("Padding option `nan` is not supported for integer blocks")
    return tensor_descriptor(
        base,
        _extents(shape, ty.int32),
        _extents(strides, ty.int64),
        ty.block_type(element, dims),
        str(padding),
    )


def _extents(values: Any, type: ty.dtype) -> tuple[tensor, ...]:
    """Each value as a scalar of an integer type, wider ones cut off as a cast does."""
    out = []
    for value in map(unwrap, values):
        if isinstance(value, tensor) and not value.shape:
            out.append(cast(value, type))
        elif isinstance(value, int):
            out.append(scalar_constant(value, type))
        else:
            raise ValueError(f"a descriptor's shape and strides are scalars, not {value!r}")
    return tuple(out)


def host_descriptor(descriptor: Any, base: tensor) -> tensor_descriptor:
    """The kernel's side of a descriptor that the host made."""
    element = base.type.element_ty  # type: ignore[attr-defined]
    return tensor_descriptor(
        base,
        tuple(constant(int(n), ty.int32) for n in descriptor.shape),
        tuple(constant(int(n), ty.int64) for n in descriptor.strides),
        ty.block_type(element, descriptor.block_shape),
        getattr(descriptor, "padding", "zero"),
        getattr(descriptor, "round_f32_to_tf32", False),
    )


def load_tensor_descriptor(desc: tensor_descriptor, offsets: Any) -> Any:
    """`-> block_shape`: the block at `offsets`."""
    return desc.load(offsets)


def store_tensor_descriptor(desc: tensor_descriptor, offsets: Any, value: Any) -> Any:
    """Writes a block at `offsets`."""
    return desc.store(offsets, value)

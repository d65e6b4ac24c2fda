"""Block pointers: a base, the parent's shape and strides, and the offsets of one block in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.creation import block_shape as shape_of
from blockstep.language.declared import must_use_result
from blockstep.language.memory import load_pointers, store_pointers
from blockstep.language.op import emit
from blockstep.language.ops.box import BOX_MASK, BOX_POINTERS
from blockstep.language.promotion import broadcast_to, constant, to_tensor
from blockstep.language.value import tensor


def scalars(values: Any, type: ty.dtype, what: str) -> tuple[tensor, ...]:
    """Each value as a scalar of an integer type. Raises ValueError for blocks and floats."""
    out = []
    for value in unwrap(values) if isinstance(values, (tuple, list)) else values:
        value = unwrap(value)
        if isinstance(value, int):
            out.append(constant(value, type))
            continue
        value = to_tensor(value)
        if value.shape or not value.dtype.is_int():
            raise ValueError(f"Expected a scalar integer in {what}, got {value.type}")
        if type is ty.int32 and value.dtype.primitive_bitwidth > 32:
            raise ValueError(
                f"Block pointers only support 32 bit `{what}`, add a `.to(tl.int32)` "
                "if you are sure of it"
            )
        out.append(cast(value, type))
    return tuple(out)


class block_pointer:
    """A pointer to a block of a larger array. `tl.advance` makes another one."""

    __slots__ = ("base", "parent", "strides", "offsets", "block_shape", "order", "type")
    __blockstep_value__ = True
    boundary = True

    def __init__(
        self,
        base: tensor,
        parent: tuple[tensor, ...],
        strides: tuple[tensor, ...],
        offsets: tuple[tensor, ...],
        block_shape: tuple[int, ...],
        order: tuple[int, ...],
    ) -> None:
        self.base, self.parent, self.strides, self.offsets = base, parent, strides, offsets
        self.block_shape, self.order = block_shape, order
        element = base.type.scalar.element_ty  # type: ignore[attr-defined]
        self.type = ty.pointer_type(ty.block_type(element, block_shape))

    @property
    def dtype(self) -> ty.dtype:
        """The pointer's type; `.element_ty` is the block's."""
        return self.type

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    def __repr__(self) -> str:
        view = self.base.origin
        name = view.name if view is not None and not isinstance(view, tuple) else "memory"
        where = ", ".join(str(getattr(o, "handle", o)) for o in self.offsets)
        return f"<block pointer to {name}, block {self.block_shape} at ({where})>"

    def advance(self, offsets: Sequence[Any]) -> Any:
        """`tl.advance` of it."""
        return advance(self, offsets)

    def _pointers(self) -> tensor:
        element = self.base.type.scalar.element_ty  # type: ignore[attr-defined]
        return emit(  # type: ignore[no-any-return]
            BOX_POINTERS,
            self.base,
            *self.offsets,
            *self.strides,
            shape=self.block_shape,
            itemsize=element.itemsize,
        )

    def _mask(self, boundary_check: Any) -> tensor | None:
        axes = unwrap(boundary_check)
        axes = (axes,) if isinstance(axes, int) else tuple(axes or ())
        for axis in axes:
            if not 0 <= axis < len(self.block_shape):
                raise ValueError(f"boundary_check names axis {axis} of {len(self.block_shape)}")
        if len(set(axes)) != len(axes):
            raise ValueError("Duplicate dimension in `boundary_check`")
        if not axes:
            return None
        chosen = [self.offsets[a] for a in axes] + [self.parent[a] for a in axes]
        return emit(BOX_MASK, *chosen, axes=axes, shape=self.block_shape)  # type: ignore[no-any-return]

    def load(self, boundary_check: Any, padding: str, options: dict[str, Any]) -> Any:
        """The block; the guarded axes read `padding` outside of the parent."""
        element = self.base.type.scalar.element_ty  # type: ignore[attr-defined]
        if padding == "nan" and element.is_int():
            raise ValueError("Padding option `nan` is not supported for integer block pointers")
        mask = self._mask(boundary_check)
        fill = None
        if mask is not None and padding:
            number = float("nan") if padding == "nan" else 0
            fill = broadcast_to(constant(number, element), self.block_shape)
        return load_pointers(self._pointers(), mask, fill, options)

    def store(self, value: Any, boundary_check: Any, options: dict[str, Any]) -> Any:
        """Writes a block of the element type; what lies outside of a guarded axis is dropped."""
        element = self.base.type.scalar.element_ty  # type: ignore[attr-defined]
        value = to_tensor(value)
        if not value.shape:
            value = broadcast_to(cast(value, element), self.block_shape)
        if value.shape != self.block_shape:
            raise ValueError(
                f"Block shape({list(self.block_shape)}) and value shape({list(value.shape)}) mismatch"
            )
        if value.dtype is not element:
            raise ValueError(
                f"Block element type({element}) and value element type({value.dtype}) mismatch"
            )
        return store_pointers(self._pointers(), value, self._mask(boundary_check), options)


def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> block_pointer:
    """A pointer to the block of `block_shape` at `offsets` in an array at `base`.

    `shape` and `strides` describe the whole array (elements); `order` says which axis is fastest
    and is only a hint. Raises ValueError for ranks that differ, 64-bit offsets, or a base that is
    no scalar pointer."""
    if not isinstance(base, tensor) or not base.type.is_ptr():
        raise ValueError(
            "Expected `base` to be a pointer type (but not a block pointer type or others)"
        )
    if base.type.element_ty.is_int1():  # type: ignore[attr-defined]
        base = cast(base, ty.pointer_type(ty.int8))
    parts = [
        scalars(shape, ty.int64, "shape"),
        scalars(strides, ty.int64, "strides"),
        scalars(offsets, ty.int32, "offsets"),
    ]
    dims = shape_of(block_shape)
    wanted = tuple(int(unwrap(n)) for n in unwrap(order))
    if sorted(wanted) != list(range(len(wanted))):
        raise ValueError("Expected a permutation of (0, 1, ..., len(order)-1) in order")
    if any(len(part) != len(dims) for part in (*parts, wanted)):
        raise ValueError("Expected shape/strides/offsets/block_shape/order to have the same length")
    return block_pointer(base, parts[0], parts[1], parts[2], dims, wanted)


@must_use_result("It makes another pointer and leaves this one: pointer = tl.advance(pointer, ...)")
def advance(base: Any, offsets: Sequence[Any]) -> Any:
    """The block pointer moved by `offsets` elements along each axis."""
    if hasattr(base, "advanced"):
        return base.advanced(offsets)
    if not isinstance(base, block_pointer):
        raise ValueError("advance moves block pointers (tl.make_block_ptr)")
    steps = scalars(offsets, ty.int32, "offsets")
    if len(steps) != len(base.offsets):
        raise ValueError("advance needs one offset for each axis of the block")
    moved = tuple(a + b for a, b in zip(base.offsets, steps, strict=True))
    return block_pointer(base.base, base.parent, base.strides, moved, base.block_shape, base.order)

"""Loads and stores through pointers, block pointers and tensor descriptors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops import memory as ops
from blockstep.language.promotion import broadcast, broadcast_to, to_tensor
from blockstep.language.value import tensor

LOAD_CACHE = ("", ".ca", ".cg", ".cv")
STORE_CACHE = ("", ".wb", ".cg", ".cs", ".wt")
EVICTION = ("", "evict_first", "evict_last", "evict_normal")
PADDING = ("", "zero", "nan")


def one_of(value: Any, allowed: tuple[str, ...], what: str) -> str:
    """A string option. Raises ValueError that lists what is allowed."""
    if type(value) is str and value in allowed:
        return value
    text = unwrap(value) or ""
    if text not in allowed:
        raise ValueError(
            f"{what} {text!r} not supported; it is one of {', '.join(map(repr, allowed))}"
        )
    return str(text)


@lru_cache(maxsize=256)
def _load_options(cache: Any, eviction: Any, volatile: Any) -> dict[str, Any]:
    return {
        "cache": one_of(cache, LOAD_CACHE, "Cache modifier"),
        "eviction": one_of(eviction, EVICTION, "Eviction policy"),
        "volatile": bool(unwrap(volatile)),
    }


@lru_cache(maxsize=256)
def _store_options(cache: Any, eviction: Any) -> dict[str, Any]:
    return {
        "cache": one_of(cache, STORE_CACHE, "Cache modifier"),
        "eviction": one_of(eviction, EVICTION, "Eviction policy"),
    }


def block_pointer_of(pointer: Any) -> Any:
    """The block pointer behind `pointer`, or None."""
    return pointer if hasattr(pointer, "boundary") else None


def check_pointer(pointer: Any, function: str) -> tensor:
    if not isinstance(pointer, tensor) or not pointer.type.scalar.is_ptr():
        found = pointer.type if isinstance(pointer, tensor) else type(pointer).__name__
        raise ValueError(f"Unsupported ptr type {found} in `tl.{function}`")
    return pointer


def check_mask(mask: Any, pointer: tensor) -> tensor | None:
    """The mask with the pointer's shape; None where it is absent or constantly on."""
    if type(mask) is not tensor:
        if mask is None or unwrap(mask) is True:
            return None
        mask = to_tensor(mask)
    if not mask.type.scalar.is_int1():
        raise ValueError("Mask must have boolean scalar type")
    if not pointer.type.shape and mask.type.shape:
        raise ValueError("Mask argument cannot be block type if pointer argument is not a block")
    return _fitted(mask, pointer)


def _fitted(x: tensor, pointer: tensor) -> tensor:
    """`x` in the pointer's shape; one of lower rank gets leading axes."""
    if x.type.shape == pointer.type.shape:
        return x
    if 0 < len(x.type.shape) < len(pointer.type.shape):
        return broadcast(x, pointer)[0]
    return broadcast_to(x, pointer.type.shape)


def _widened(pointer: tensor, *values: Any) -> tensor:
    """A block of pointers in the shape that it has in common with the blocks beside it."""
    for x in values:
        if type(x) is tensor and x.type.shape and x.type.shape != pointer.type.shape:
            try:
                pointer = broadcast(pointer, x)[0]
            except ValueError:  # said where `x` is fitted
                return pointer
    return pointer


def _fill(other: Any, mask: Any, pointer: tensor) -> tensor | None:
    if other is None:
        return None
    if mask is None:
        raise ValueError("`other` cannot be provided without `mask`")
    other = to_tensor(other)
    if not pointer.type.shape and other.type.shape:
        raise ValueError("Other argument cannot be block type if pointer argument is not a block")
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    return cast(_fitted(other, pointer), element)  # type: ignore[no-any-return]


def _no_boundaries(boundary_check: Any, padding_option: Any, what: str) -> None:
    if unwrap(boundary_check) or unwrap(padding_option):
        raise ValueError(
            f"`padding_option` or `boundary_check` argument is not supported for {what} a tensor of "
            "pointers or a scalar: only block pointers (`tl.make_block_ptr`) know their boundary; "
            "use `mask` and `other` here"
        )


def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Any:
    """`n -> n`: the elements that `pointer` names.

    Elements whose `mask` is off are not read: they are `other`, and **undefined** without it.
    With a block pointer, the axes in `boundary_check` are guarded and `padding_option` ("zero",
    "nan") fills what lies outside. Raises ValueError for a pointer of another kind, a mask that
    is no int1, or an unknown option."""
    options = _load_options(cache_modifier, eviction_policy, volatile)
    block = None if type(pointer) is tensor else block_pointer_of(pointer)
    if block is not None:
        if mask is not None or other is not None:
            raise ValueError(
                "`mask` and `other` arguments cannot be specified for loading block pointers"
            )
        return block.load(
            boundary_check, one_of(padding_option, PADDING, "Padding option"), options
        )
    pointer = check_pointer(pointer, "load")
    if boundary_check or padding_option:
        _no_boundaries(boundary_check, padding_option, "loading")
    mask, other = unwrap(mask), unwrap(other)
    if pointer.type.shape:
        pointer = _widened(pointer, mask, other)
    fill, mask = _fill(other, mask, pointer), check_mask(mask, pointer)
    if pointer.type.scalar.element_ty is ty.int1:
        return load_pointers(pointer, mask, fill, options)
    return emit(ops.LOAD, pointer, mask, fill, **options)


def load_pointers(
    pointer: tensor, mask: tensor | None, other: tensor | None, options: dict[str, Any]
) -> Any:
    """Emits the load; int1 lives in memory as a byte, and any byte but 0 is true."""
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    if not element.is_int1():
        return emit(ops.LOAD, pointer, mask, other, **options)
    pointer = cast(pointer, ty.pointer_type(ty.int8))
    fill = None if other is None else cast(other, ty.int8)
    return cast(emit(ops.LOAD, pointer, mask, fill, **options), ty.int1)


def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> Any:
    """`n, n ->`: writes `value`, cast to the element type, where `mask` is on.

    Raises ValueError for a `tl.const` pointer, a block of values for a scalar pointer, or a mask
    that is no int1."""
    options = _store_options(cache_modifier, eviction_policy)
    block = None if type(pointer) is tensor else block_pointer_of(pointer)
    if block is not None:
        if mask is not None:
            raise ValueError(
                "`mask` and `other` arguments cannot be specified for storing block pointers"
            )
        return block.store(value, boundary_check, options)
    pointer = check_pointer(pointer, "store")
    if boundary_check:
        _no_boundaries(boundary_check, "", "storing")
    if pointer.type.scalar.is_const():
        raise ValueError("Cannot store to a constant pointer")
    value = to_tensor(value)
    if not pointer.type.shape and value.type.shape:
        raise ValueError("Value argument cannot be block type if pointer argument is not a block")
    value = _fitted(value, pointer)
    return store_pointers(pointer, value, check_mask(mask, pointer), options)


def store_pointers(
    pointer: tensor, value: tensor, mask: tensor | None, options: dict[str, Any]
) -> Any:
    """Emits the store of `value`, cast to the element type. int1 lives in memory as a byte, and
    a value of another type is cast to that byte: 256 and 0.5 store False (as Triton 3.6 does)."""
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    if element.is_int1():
        pointer = cast(pointer, ty.pointer_type(ty.int8))
        element = ty.int8
    return emit(ops.STORE, pointer, cast(value, element), mask, **options)

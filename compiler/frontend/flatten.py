"""Composite values as lists of IR values, and back.

A variable that a loop carries may be a block, a tuple, a block pointer or a descriptor. IR carries
plain values only, so such a variable is taken apart before a region and put together inside it.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Sequence
from typing import Any

from blockstep.language.blockpointer import block_pointer
from blockstep.language.descriptor import tensor_descriptor
from blockstep.language.types import tuple_type
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

Rebuild = Callable[[Sequence[tensor]], Any]


def is_runtime(value: Any) -> bool:
    """Whether a variable's value holds anything that exists only at run time."""
    return bool(flatten(value)[0])


def flatten(value: Any) -> tuple[list[tensor], Rebuild]:
    """The run-time parts of a value in order, and the function that makes it again from others."""
    if isinstance(value, tensor):
        return [value], lambda parts: parts[0]
    if isinstance(value, (builtins.tuple, tl_tuple, list)):
        return _sequence(value)
    if isinstance(value, block_pointer):
        return _block_pointer(value)
    if isinstance(value, tensor_descriptor):
        return _descriptor(value)
    fields = getattr(value, "__triton_aggregate__", False) and vars(value)
    if fields:
        return _aggregate(value, fields)
    return [], lambda parts: value


def _joined(items: Sequence[Any]) -> tuple[list[tensor], list[tuple[int, Rebuild]]]:
    parts: list[tensor] = []
    makers = []
    for item in items:
        inner, rebuild = flatten(item)
        makers.append((len(inner), rebuild))
        parts += inner
    return parts, makers


def _rebuilt(parts: Sequence[tensor], makers: list[tuple[int, Rebuild]]) -> list[Any]:
    place, out = 0, []
    for count, rebuild in makers:
        out.append(rebuild(parts[place : place + count]))
        place += count
    return out


def _sequence(value: Any) -> tuple[list[tensor], Rebuild]:
    parts, makers = _joined(list(value))

    def rebuild(given: Sequence[tensor]) -> Any:
        items = _rebuilt(given, makers)
        if isinstance(value, tl_tuple):
            fields = value.type.fields
            kinds = [getattr(v, "type", None) for v in items]
            return tl_tuple(items, tuple_type(kinds, fields)) if fields else tl_tuple(items)
        return type(value)(*items) if hasattr(value, "_fields") else builtins.tuple(items)

    return parts, rebuild


def _block_pointer(value: block_pointer) -> tuple[list[tensor], Rebuild]:
    groups = (value.parent, value.strides, value.offsets)
    parts, makers = _joined([value.base, *groups])

    def rebuild(given: Sequence[tensor]) -> Any:
        base, parent, strides, offsets = _rebuilt(given, makers)
        return block_pointer(base, parent, strides, offsets, value.block_shape, value.order)

    return parts, rebuild


def _descriptor(value: tensor_descriptor) -> tuple[list[tensor], Rebuild]:
    parts, makers = _joined(
        [value.base, builtins.tuple(value.shape), builtins.tuple(value.strides)]
    )

    def rebuild(given: Sequence[tensor]) -> Any:
        base, shape, strides = _rebuilt(given, makers)
        return tensor_descriptor(
            base, shape, strides, value.block_type, value.padding, value.round_to_tf32
        )

    return parts, rebuild


def _aggregate(value: Any, fields: dict[str, Any]) -> tuple[list[tensor], Rebuild]:
    names = list(fields)
    parts, makers = _joined(list(fields.values()))

    def rebuild(given: Sequence[tensor]) -> Any:
        made = copy.copy(value)
        for name, item in zip(names, _rebuilt(given, makers), strict=True):
            object.__setattr__(made, name, item)
        return made

    return parts, rebuild


def kinds(value: Any) -> Any:
    """What must not change when a loop carries a value: its types, or the constant itself."""
    parts, _ = flatten(value)
    return tuple(p.type for p in parts) if parts else ("constant", value)

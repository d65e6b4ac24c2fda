"""Tensor maps: each array that the copy engine reads or writes is told to it once, as far out of
loops as what describes it is known."""

from __future__ import annotations

from typing import Any

from blockstep.compiler.passes.boxes import Box
from blockstep.ir import TENSOR_MAP, Operation, Region, Value
from blockstep.language import types as ty


def map_of(box: Box, width: int, padding: str, before: Operation) -> Value:
    """The map for boxes like this one with rows of `width` bytes (0: no swizzle), to be used from
    `before` on: one that is there, or a new one."""
    told = {
        "element": box.element, "shape": box.shape, "width": width, "padding": padding,
        "passed": box.passed,
    }  # fmt: skip
    place = _outermost(before, box.array)
    known = _known(place, box.array, told)
    if known is not None:
        return known
    made = Operation(TENSOR_MAP, list(box.array), [ty.int64], told, location=before.location)
    made.insert_before(place)
    return made.results[0]


def _known(place: Operation, array: tuple[Value, ...], told: dict[str, Any]) -> Value | None:
    """A map that was made before `place`, and on every way to it."""
    at: Operation | None = place
    while at is not None:
        region = at.parent
        assert region is not None
        for one in region.operations[: region.operations.index(at)]:
            if one.name == "tensor_map" and tuple(one.operands) == array and one.attributes == told:
                return one.results[0]
        at = region.parent if isinstance(region.parent, Operation) else None
    return None


def _outermost(before: Operation, values: tuple[Value, ...]) -> Operation:
    """Where values are known as well, ahead of as many loops as possible."""
    place = outer = before
    while (around := parent_of(outer)) is not None:
        if any(is_inside(value, around) for value in values):
            break
        outer = around
        if around.name in ("for", "while"):
            place = around
    return place


def parent_of(operation: Operation) -> Operation | None:
    """The structured operation that an operation stands in."""
    region = operation.parent
    return region.parent if region is not None and isinstance(region.parent, Operation) else None


def is_inside(value: Value, operation: Operation) -> bool:
    """Whether a value is computed, or an argument, in one of an operation's regions."""
    owner = value.owner
    region = owner if isinstance(owner, Region) else owner.parent
    while region is not None and isinstance(region.parent, Operation):
        if region.parent is operation:
            return True
        region = region.parent.parent
    return False


__all__ = ["is_inside", "map_of", "parent_of"]

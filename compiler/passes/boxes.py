"""Which loads and stores the copy engine can do: boxes of the array behind a descriptor.

Such an access goes through `box_pointers(base, offsets, strides)` under `box_mask(offsets, shape)`,
where base, strides and shape are those of one descriptor. If the host made it, they are parameters
and the launch passes a map. One made in the kernel has to promise what the engine asks for: `Engine`
marks those whose base and strides are known to be multiples of 16 bytes. What the kernel writes is
not read by the engine, which does not see what a lane has stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blockstep.compiler.analysis import Hint, analyse
from blockstep.compiler.layouts.shared import SharedLayout, boxes
from blockstep.compiler.layouts.staging import can_be_cut
from blockstep.compiler.passes.fuel import left, spend
from blockstep.compiler.passes.ordering import WRITES, pointer_of, roots_of
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import types as ty

FAR = 1 << 40  # bytes that every stride is below
ALIGNMENT = 16  # bytes that divide the base, and every stride but the last
_FIRST = 90  # the architecture
_HAS_NAN = (ty.float16, ty.bfloat16, ty.float32, ty.float64)


@dataclass(frozen=True)
class Engine:
    """Marks the pointers of descriptors whose arrays the copy engine can find: `engine=True`."""

    hints: Mapping[str, Hint]
    capability: int = 90
    name: str = "engine"

    def apply(self, function: Function) -> None:
        """Changes attributes alone. It has to know what promises and hints say of a base."""
        found = [op for op in function.walk() if op.attributes.get("described")]
        if self.capability < _FIRST or not found:
            return
        facts = analyse(function, self.hints, trust_dividends=True)
        for operation in found:
            if left() and _straight(operation, facts):
                operation.attributes["engine"] = True
                spend(operation)


def _straight(operation: Operation, facts: Mapping[Value, Any]) -> bool:
    base, *parts = operation.operands
    size = operation.attributes["itemsize"]
    *strides, last = parts[len(parts) // 2 :]
    known = [facts[s].constant for s in strides]
    return (
        _is_one(last)
        and facts[base].everywhere % ALIGNMENT == 0
        and all(facts[s].everywhere * size % ALIGNMENT == 0 for s in strides)
        and all(n is None or 0 < n * size < FAR for n in known)
    )


@dataclass(frozen=True, slots=True)
class Box:
    """A box of an array: the array, and where the box begins. `passed`: the name of the descriptor,
    if the launch passes its map."""

    base: Value
    lengths: tuple[Value, ...]
    strides: tuple[Value, ...]
    offsets: tuple[Value, ...]
    shape: tuple[int, ...]
    element: ty.dtype
    passed: str

    @property
    def array(self) -> tuple[Value, ...]:
        """What tells the array: base, lengths, strides."""
        return self.base, *self.lengths, *self.strides


@dataclass(frozen=True, slots=True)
class Boxed:
    """A load as a box: what lies outside (zero or nan), and the swizzle."""

    box: Box
    padding: str
    width: int  # bytes of a box's row, which is the swizzle


def box_of(pointer: Value, mask: Value | None) -> Box | None:
    """The box that an access with this pointer and mask touches, if the engine can find it."""
    made, inside = pointer.producer, mask.producer if mask is not None else None
    if made is None or inside is None or (made.name, inside.name) != ("box_pointers", "box_mask"):
        return None
    shape = tuple(pointer.type.shape)
    rank = len(shape)
    base, *rest = made.operands
    offsets, strides = tuple(rest[:rank]), tuple(rest[rank:])
    lengths = tuple(inside.operands[rank:])
    if tuple(inside.attributes["axes"]) != tuple(range(rank)):
        return None
    if not made.attributes.get("described") or tuple(inside.operands[:rank]) != offsets:
        return None
    if not _is_one(strides[-1]) or any(offset.type is not ty.int32 for offset in offsets):
        return None
    passed = _of_the_host(base, lengths, strides)
    if not passed and not made.attributes.get("engine"):
        return None
    element: ty.dtype = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    return Box(base, lengths, strides, offsets, shape, element, base.name if passed else "")


def boxed(load: Operation, pointer: Value, mask: Value | None, other: Value | None,
          layout: SharedLayout) -> Boxed | None:  # fmt: skip
    """The load as a box that the engine brings into shared memory as `layout` says, if it can."""
    box = box_of(pointer, mask)
    if box is None or not can_be_cut(box.shape) or _is_written(load, box.base):
        return None
    padding, width = _padding(other), _width(box, layout)
    if padding is None or width is None or padding == "nan" and box.element not in _HAS_NAN:
        return None
    return Boxed(box, padding, width)


def _of_the_host(base: Value, lengths: tuple[Value, ...], strides: tuple[Value, ...]) -> bool:
    """Whether all are parts of one descriptor that the launch passes."""
    name = base.name
    return (
        _is_parameter(base)
        and all(_is_part(v, f"{name}.shape{i}") for i, v in enumerate(lengths))
        and all(_is_part(v, f"{name}.stride{i}") for i, v in enumerate(strides[:-1]))
    )


def _is_parameter(value: Value) -> bool:
    owner = value.owner
    return isinstance(owner, Region) and isinstance(owner.parent, Function)


def _is_written(load: Operation, base: Value) -> bool:
    """Whether the kernel may write what a descriptor's base points to."""
    mine = roots_of(base)
    written = [roots_of(pointer_of(op)) for op in function_of(load).walk() if op.name in WRITES]
    return any(mine & theirs or None in mine | theirs for theirs in written)


def function_of(operation: Operation) -> Function:
    """The function that an operation stands in."""
    region = operation.parent
    while region is not None and isinstance(region.parent, Operation):
        region = region.parent.parent
    assert region is not None and isinstance(region.parent, Function)
    return region.parent


def _is_part(value: Value, name: str) -> bool:
    return _is_parameter(value) and value.name == name


def _is_one(value: Value) -> bool:
    """The last stride of a descriptor, as the pass `descriptors` leaves it."""
    producer = value.producer
    return (
        producer is not None and producer.name == "constant" and producer.attributes["value"] == 1
    )


def _width(box: Box, layout: SharedLayout) -> int | None:
    """The swizzle, if the layout is one that the engine writes: rows of the last axis, whatever the
    others became."""
    size = box.element.itemsize
    for width in (128, 64, 32):
        if box.shape[-1] * size >= width:
            if layout.elements == boxes(box.shape, size, width).elements:
                return width
    return None


def _padding(other: Value | None) -> str | None:
    """What the engine must fill in: zero, nan, or nothing that it can."""
    while other is not None and other.producer is not None:
        producer = other.producer
        if producer.name == "constant":
            value = producer.attributes["value"]
            if isinstance(value, float) and math.isnan(value):
                return "nan"
            return "zero" if value == 0 and str(value)[0] != "-" else None
        if producer.name not in ("splat", "cast", "broadcast"):
            return None
        other = producer.operands[0]
    return "zero" if other is None else None


__all__ = ["Box", "Boxed", "Engine", "box_of", "boxed", "function_of"]

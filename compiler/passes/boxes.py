"""Which loads the copy engine can do: boxes of the array behind a descriptor that the host passed.

Such a load is `load(box_pointers(base, offsets, strides), box_mask(offsets, shape))`, where base,
strides and shape are the parameters of one descriptor. A descriptor made in the kernel has no map,
so its loads stay what they are; and so do those of a descriptor that the kernel writes, because the
engine does not see what a lane has stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from blockstep.compiler.layouts.shared import SharedLayout, swizzle_128b
from blockstep.compiler.passes.ordering import WRITES, roots_of
from blockstep.ir import Function, Operation, Region, Value

WIDEST = 256  # elements of a box along one axis


@dataclass(frozen=True, slots=True)
class Boxed:
    """A load as a box: the descriptor's name, the offsets, what lies outside (zero or nan)."""

    descriptor: str
    offsets: tuple[Value, ...]
    padding: str
    width: int  # bytes of a box's row, which is the swizzle


def boxed(load: Operation, pointer: Value, mask: Value | None, other: Value | None,
          layout: SharedLayout) -> Boxed | None:  # fmt: skip
    """The load as a box that the engine brings into shared memory as `layout` says, if it can."""
    box, inside = pointer.producer, mask.producer if mask is not None else None
    if box is None or inside is None or (box.name, inside.name) != ("box_pointers", "box_mask"):
        return None
    rank = len(pointer.type.shape)
    base, *rest = box.operands
    offsets, strides = rest[:rank], rest[rank:]
    name = base.name
    if rank != 2 or tuple(inside.attributes["axes"]) != tuple(range(rank)):
        return None
    if not _is_parameter(base) or inside.operands[:rank] != offsets or _is_written(base):
        return None
    if not all(_is_part(v, f"{name}.stride{i}") for i, v in enumerate(strides[:-1])):
        return None
    if not _is_one(strides[-1]):
        return None
    if not all(_is_part(v, f"{name}.shape{i}") for i, v in enumerate(inside.operands[rank:])):
        return None
    padding, width = _padding(other), _width(load, layout)
    if padding is None or width is None:
        return None
    return Boxed(name, tuple(offsets), padding, width)


def _is_parameter(value: Value) -> bool:
    owner = value.owner
    return isinstance(owner, Region) and isinstance(owner.parent, Function)


def _is_written(base: Value) -> bool:
    """Whether the kernel may write what a descriptor's base points to."""
    function = base.owner.parent
    assert isinstance(function, Function)
    pointers = [op.operands[0] for op in function.walk() if op.name in WRITES]
    return any({base, None} & roots_of(pointer) for pointer in pointers)


def _is_part(value: Value, name: str) -> bool:
    return _is_parameter(value) and value.name == name


def _is_one(value: Value) -> bool:
    """The last stride of a descriptor, as the pass `descriptors` leaves it."""
    producer = value.producer
    return (
        producer is not None and producer.name == "constant" and producer.attributes["value"] == 1
    )


def _width(load: Operation, layout: SharedLayout) -> int | None:
    """The swizzle, if the layout is one that the engine writes."""
    shape = layout.shape
    size = load.results[0].type.scalar.itemsize
    if shape[0] > WIDEST:
        return None
    for width in (128, 64, 32):
        if shape[1] * size >= width:
            if layout == swizzle_128b(shape, (1, 0), size, width):
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

"""Tensor maps (PTX ISA, `tensormap`): what the copy engine must know of an array and of its boxes.

One that the host made is a parameter. One that the kernel makes is put together by the first warp in
shared memory, beginning from zeros, and copied to the CTA's own place in scratch memory, which the
launch gives; a fence there lets the engine see it. The same warp starts all copies.

A box is a row of at most 128 bytes wide where it is swizzled; a block is as many boxes side by side
as it takes. Invariant: everything is told from the innermost axis outwards, as the engine counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from blockstep.compiler.layouts.staging import box_lengths
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation, Value
from blockstep.language import types as ty

BYTES = 128  # of a map
ALIGNMENT = 16  # bytes, of where the engine begins in a row of what it writes
_WARP = 32
_KINDS = {
    "uint8": 0, "int8": 0, "int1": 0, "uint16": 1, "int16": 1, "uint32": 2, "int32": 3,
    "uint64": 4, "int64": 5, "fp16": 6, "fp32": 7, "fp64": 9, "bf16": 10,
}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor map that a launch must pass. Box lengths in elements, the swizzle in bytes."""

    parameter: str
    descriptor: str
    element: str
    rank: int
    box: tuple[int, ...]
    swizzle: int
    padding: str


def pieces(shape: Sequence[int], box: Sequence[int], size: int) -> Iterator[tuple[list[int], int]]:
    """The boxes of a block: where in it each begins, and its offset in bytes in shared memory, where
    columns of boxes follow each other. Of the other axes the first alone may be cut."""
    rows = prod(shape[:-1])
    for starts in product(*(range(0, n, m) for n, m in zip(shape, box, strict=True))):
        above = starts[0] * prod(shape[1:-1]) if len(shape) > 1 else 0
        yield list(starts), (starts[-1] * rows + above * box[-1]) * size


def made_here(operation: Operation) -> bool:
    """Whether the kernel makes this map."""
    return operation.name == "tensor_map" and not operation.attributes["passed"]


@lowers("tensor_map")
def _tensor_map(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    if made_here(operation):
        _make(lw, operation)
        return
    told = operation.attributes
    box = box_lengths(told["shape"], told["element"].itemsize, told["width"])
    key = (told["passed"], told["element"].name, box, told["width"], told["padding"])
    found = lw.maps.get(key)
    if found is None:
        name = f"%map{len(lw.maps)}"
        found = lw.maps[key] = Map(
            name, told["passed"], told["element"].name, len(box), box, told["width"],
            told["padding"],
        )  # fmt: skip
    lw.bind(result, Item(lw.b.value(f"ptrtoint ptr {found.parameter} to i64"), ty.int64))


def _make(lw: Lowering, operation: Operation) -> None:
    """Places in scratch memory are numbered in the order of the operations."""
    (result,) = operation.results
    lw.barrier()  # whoever reads what lay there has read it
    place = lw.plan.add(BYTES, BYTES, lw.position, lw.position).name
    number = [op for op in lw.function.walk() if made_here(op)].index(operation)
    slot = lw.b.value(f"add i64 {lw.slots}, {number * BYTES}")
    fields = _fields(lw, operation)
    stores = any(op.name in ("tensor_store", "tensor_reduce") for op in lw.function.walk())
    again = stores and operation.parent is not lw.function.body
    first = lw.b.value(f"icmp ult i32 {lw.tid}, {_WARP}")
    alone = lw.b.value(f"icmp eq i32 {lw.tid}, 0")

    def write() -> None:
        moved = lw.b.value(f"shl nuw nsw i32 {lw.lane}, 2")
        own = lw.shared_pointer(lw.b.value(f"add nuw nsw i32 {place}, {moved}"))
        lw.b.effect(f"store i32 0, ptr addrspace(3) {own}, align 4")
        _meet(lw)
        at = lw.b.value(f"zext i32 {lw.shared_address(place)} to i64")
        lanes.guarded(lw, alone, lambda: _replace(lw, at, fields, again))
        _meet(lw)
        lw.b.asm(
            "void",
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
            f"[$0], [$1], {BYTES};",
            "l,l,~{memory}",
            [f"i64 {slot}", f"i64 {at}"],
        )
        fence = f"fence.proxy.tensormap::generic.acquire.gpu [$0], {BYTES};"
        lw.b.asm("void", fence, "l,~{memory}", [f"i64 {slot}"])
        # Some versions of ptxas let what follows begin before the fence is over; a wait keeps it.
        lw.b.asm("void", "cp.async.bulk.commit_group;", "~{memory}", [])
        lw.b.asm("void", "cp.async.bulk.wait_group.read 0;", "~{memory}", [])

    lanes.guarded(lw, first, write)
    lw.bind(result, Item(slot, ty.int64))


def _meet(lw: Lowering) -> None:
    lw.b.call("void", "llvm.nvvm.bar.warp.sync", ["i32 -1"], "#1")


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its type, which of several, and the value, a constant or one of LLVM's."""

    name: str
    type: str
    index: int | None
    value: int | str


def _fields(lw: Lowering, operation: Operation) -> list[_Field]:
    """What is written over the zeros. An array of which an axis has no element is told to have one,
    and `coordinates` moves its boxes out of it."""
    told = operation.attributes
    base, *parts = lw.operands(operation)
    rank, size = len(told["shape"]), told["element"].itemsize
    lengths, strides = parts[:rank], parts[rank:-1]
    empty = []  # of each axis, whether it has no element
    found = [
        _Field("global_address", "b64", None, base.name),
        _Field("rank", "b32", None, rank - 1),
    ]
    for axis, n in enumerate(
        reversed(box_lengths(told["shape"], told["element"].itemsize, told["width"]))
    ):
        found.append(_Field("box_dim", "b32", axis, n))
        found.append(_Field("element_stride", "b32", axis, 1))
    for axis, length in enumerate(reversed(lengths)):
        name = length.name
        if name.startswith("%"):
            empty.append(lw.b.value(f"icmp slt i32 {name}, 1"))
            name = lw.b.call("i32", "llvm.smax.i32", [f"i32 {name}", "i32 1"])
        else:
            empty.append("true" if int(name) < 1 else "false")
            name = str(max(int(name), 1))
        found.append(_Field("global_dim", "b32", axis, name))
    for axis, stride in enumerate(reversed(strides)):
        bytes_ = lw.b.value(f"mul i64 {stride.name}, {size}")
        found.append(_Field("global_stride", "b64", axis, bytes_))
    found += [
        _Field("elemtype", "b32", None, _kind(told["element"])),
        _Field("interleave_layout", "b32", None, 0),
        _Field("swizzle_mode", "b32", None, _SWIZZLES[told["width"]]),
        _Field("fill_mode", "b32", None, int(told["padding"] == "nan")),
    ]
    lw.empty[operation.results[0]] = empty
    return found


def _kind(element: ty.dtype) -> int:
    """What the engine calls the elements; 8-bit floats are bytes to it."""
    return _KINDS[element.name] if element.name in _KINDS else _KINDS["uint8"]


_IMMEDIATE = ("rank", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode")


def _replace(lw: Lowering, at: str, fields: list[_Field], again: bool) -> None:
    """Writes the fields; where a map was before, once the stores that it was for are over."""
    if again:
        lw.b.asm("void", "cp.async.bulk.wait_group 0;", "~{memory}", [])
    for field in fields:
        where = f"tensormap.replace.tile.{field.name}.shared::cta.b1024.{field.type} [$0]"
        if field.index is not None:
            where += f", {field.index}"
        operands, constraints = [f"i64 {at}"], "l"
        value = str(field.value)
        if field.name not in _IMMEDIATE:
            kind = {"b32": "i32", "b64": "i64"}[field.type]
            operands.append(f"{kind} {value}")
            constraints += ",r" if kind == "i32" else ",l"
            value = "$1"
        lw.b.asm("void", f"{where}, {value};", f"{constraints},~{{memory}}", operands)


def coordinates(lw: Lowering, told: Value, offsets: Sequence[Item]) -> list[str]:
    """Where a box begins, innermost axis first: i32. All is outside of an empty array: the axis is
    told to have one element, and the box begins behind it, where the engine may begin what it writes
    (at 16 bytes of a row, or a multiple)."""
    made = told.producer
    assert made is not None, "the verifier has seen it"
    behind = [max(ALIGNMENT // made.attributes["element"].itemsize, 1)] + [1] * (len(offsets) - 1)
    found = [offset.name for offset in reversed(offsets)]
    for axis, empty in enumerate(lw.empty.get(told, ())):
        if empty != "false":
            found[axis] = lw.b.value(f"select i1 {empty}, i32 {behind[axis]}, i32 {found[axis]}")
    return found


def moved(lw: Lowering, places: Sequence[str], starts: Sequence[int]) -> list[str]:
    """The coordinates (innermost first) of a box that begins at `starts` (outermost first)."""
    return [
        lw.b.value(f"add i32 {place}, {start}") if start else place
        for place, start in zip(places, reversed(starts), strict=True)
    ]


__all__ = ["ALIGNMENT", "Map", "coordinates", "made_here", "moved", "pieces"]

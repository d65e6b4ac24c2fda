"""Copies by the copy engine (PTX ISA, cp.async.bulk.tensor) and the barriers that count their bytes.

One lane starts a copy; every lane waits for the phase of a slot's barrier. A box is a row of at most
128 bytes wide; a block is as many boxes side by side as it takes, each swizzled on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation
from blockstep.language import types as ty

BARRIER_BYTES = 8


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


def _map(lw: Lowering, operation: Operation) -> Map:
    """The map of an operation's boxes, once for each kind of box."""
    told = operation.attributes
    element: ty.dtype = told["element"]
    columns = told["width"] // element.itemsize
    box = (told["shape"][0], columns)
    key = (told["descriptor"], element.name, box, told["width"], told["padding"])
    found = lw.maps.get(key)
    if found is None:
        name = f"%map{len(lw.maps)}"
        found = lw.maps[key] = Map(
            name, told["descriptor"], element.name, 2, box, told["width"], told["padding"]
        )
    return found


@lowers("phases")
def _phases(lw: Lowering, operation: Operation) -> None:
    """One arrival completes a phase, once the announced bytes have come."""
    (result,) = operation.results
    slots = operation.attributes["slots"]
    place = lw.allocate(slots * BARRIER_BYTES, BARRIER_BYTES, result)
    lw.barrier()
    first = lw.b.value(f"icmp eq i32 {lw.tid}, 0")
    address = lw.shared_address(place)

    def start() -> None:
        for slot in range(slots):
            at = lw.b.value(f"add i32 {address}, {slot * BARRIER_BYTES}")
            lw.b.asm("void", "mbarrier.init.shared::cta.b64 [$0], 1;", "r,~{memory}", [f"i32 {at}"])
        lw.b.asm("void", "fence.mbarrier_init.release.cluster;", "~{memory}", [])
        lw.proxy_fence()

    lanes.guarded(lw, first, start)
    lw.barrier()
    lw.bind(result, Item(place, ty.int32))


@lowers("phases_end")
def _phases_end(lw: Lowering, operation: Operation) -> None:
    """The memory may serve for something else afterwards."""
    (phases,) = lw.operands(operation)
    lw.barrier()
    first = lw.b.value(f"icmp eq i32 {lw.tid}, 0")
    address = lw.shared_address(phases.name)

    def end() -> None:
        for slot in range(operation.attributes["slots"]):
            at = lw.b.value(f"add i32 {address}, {slot * BARRIER_BYTES}")
            lw.b.asm("void", "mbarrier.inval.shared::cta.b64 [$0];", "r,~{memory}", [f"i32 {at}"])

    lanes.guarded(lw, first, end)
    lw.barrier()


@lowers("phase_wait")
def _phase_wait(lw: Lowering, operation: Operation) -> None:
    phases, slot, phase = lw.operands(operation)
    at = _barrier_of(lw, phases, slot)
    text = (
        "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
        "@p bra done; bra again; done: }"
    )
    lw.b.asm("void", text, "r,r,~{memory}", [f"i32 {at}", str(phase)])


def _barrier_of(lw: Lowering, phases: Item, slot: Item) -> str:
    moved = lw.b.value(f"mul nuw nsw i32 {slot.name}, {BARRIER_BYTES}")
    offset = lw.b.value(f"add nuw nsw i32 {phases.name}, {moved}")
    return lw.shared_address(offset)


@lowers("tensor_copy")
def _tensor_copy(lw: Lowering, operation: Operation) -> None:
    ring, phases, slot, active, *offsets = lw.operands(operation)
    told = operation.attributes
    rows, columns = told["shape"]
    size = told["element"].itemsize
    map_ = _map(lw, operation)
    moved = lw.b.value(f"mul nuw nsw i32 {slot.name}, {rows * columns * size}")
    place = lw.shared_address(lw.b.value(f"add nuw nsw i32 {ring.name}, {moved}"))
    barrier = _barrier_of(lw, phases, slot)
    first = lw.b.value(f"icmp eq i32 {lw.tid}, 0")
    predicate = lw.both(active.name, first)

    def start() -> None:
        if told["announced"]:
            lw.b.asm(
                "void", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
                [f"i32 {barrier}", f"i32 {told['announced']}"],
            )  # fmt: skip
        source = lw.b.value(f"ptrtoint ptr {map_.parameter} to i64")
        for number in range(columns // map_.box[1]):
            column, at = offsets[1].name, place
            if number:
                column = lw.b.value(f"add i32 {column}, {number * map_.box[1]}")
                at = lw.b.value(f"add i32 {place}, {number * rows * map_.swizzle}")
            lw.b.asm(
                "void",
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[$0], [$1, {$2, $3}], [$4];",
                "r,l,r,r,r,~{memory}",
                [f"i32 {at}", f"i64 {source}", f"i32 {column}", str(offsets[0]),
                 f"i32 {barrier}"],
            )  # fmt: skip

    lanes.guarded(lw, predicate, start)

"""Copies by the copy engine (PTX ISA, cp.async.bulk.tensor) and the barriers that count their bytes.

One lane starts a copy; every lane waits for the phase of a slot's barrier.
"""

from __future__ import annotations

from math import prod

from blockstep.compiler.layouts.staging import box_lengths
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.tensor_map import coordinates, moved, pieces
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation
from blockstep.language import types as ty

BARRIER_BYTES = 8


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
    ring, phases, slot, active, source, *offsets = lw.operands(operation)
    told, made = operation.attributes, operation.operands[4].producer
    assert made is not None, "the verifier has seen it"
    shape, size = made.attributes["shape"], told["element"].itemsize
    box = box_lengths(shape, size, made.attributes["width"])
    moved_on = lw.b.value(f"mul nuw nsw i32 {slot.name}, {prod(shape) * size}")
    place = lw.shared_address(lw.b.value(f"add nuw nsw i32 {ring.name}, {moved_on}"))
    barrier = _barrier_of(lw, phases, slot)
    first = lw.b.value(f"icmp eq i32 {lw.tid}, 0")
    predicate = lw.both(active.name, first)

    def start() -> None:
        if told["announced"]:
            lw.b.asm(
                "void", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
                [f"i32 {barrier}", f"i32 {told['announced']}"],
            )  # fmt: skip
        places = coordinates(lw, operation.operands[4], offsets)
        for starts, offset in pieces(shape, box, size):
            at = lw.b.value(f"add i32 {place}, {offset}") if offset else place
            _copy(lw, at, source.name, moved(lw, places, starts), barrier)

    lanes.guarded(lw, predicate, start)


def _copy(lw: Lowering, at: str, source: str, places: list[str], barrier: str) -> None:
    rank = len(places)
    named = ", ".join(f"${number + 2}" for number in range(rank))
    lw.b.asm(
        "void",
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[$0], [$1, {{{named}}}], [${rank + 2}];",
        f"r,l,{'r,' * rank}r,~{{memory}}",
        [f"i32 {at}", f"i64 {source}", *(f"i32 {place}" for place in places), f"i32 {barrier}"],
    )

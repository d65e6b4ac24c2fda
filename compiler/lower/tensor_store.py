"""Blocks that the copy engine writes to memory, or combines with it (PTX ISA, cp.async.bulk.tensor and
cp.reduce): from registers to shared memory in the engine's order, all at once or some columns after
others, and from there box by box.

One lane starts the copies and waits until they have read the shared memory. Everybody else goes on; who
wants that memory next begins with a barrier, to which that lane comes after it has waited. Where the
engine cannot write the block, the lanes do (`beside_engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

from blockstep.compiler.layouts.shared import boxes
from blockstep.compiler.layouts.staging import box_lengths, most_rounds
from blockstep.compiler.lower import convert, lanes
from blockstep.compiler.lower.beside_engine import Block, refused, write_elements
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.tensor_map import ALIGNMENT, coordinates, moved, pieces
from blockstep.ir import Operation
from blockstep.language import types as ty

_ROW = 1024  # bytes after which a swizzle begins anew


@lowers("tensor_reduce")
@lowers("tensor_store")
def _tensor_store(lw: Lowering, operation: Operation) -> None:
    _, value, *_ = operation.operands
    told, made = operation.attributes, operation.operands[0].producer
    assert made is not None, "the verifier has seen it"
    element: ty.dtype = made.attributes["element"]
    shape, width = value.type.shape, made.attributes["width"]
    box = box_lengths(shape, element.itemsize, width)
    bits = _rounds(lw, operation, box, element.itemsize)
    rounds = convert.Rounds(lw.layout(value), bits)
    part = *shape[:-1], shape[-1] >> len(bits)
    shared = boxes(part, element.itemsize, width)
    lw.barrier()  # whoever reads what lay there has read it
    beside = _refused(lw, operation, box)
    size = prod(part) * element.itemsize
    place = lw.plan.add(size, _ROW, lw.position, lw.position).name
    for number in range(1 << len(bits)):
        if number:
            lw.barrier()
        item = lw.pick(lw[value], rounds.registers(number))
        convert.fill(lw, item, rounds.inner, shared, place)
        lw.b.asm("void", _fence(told["settled"]), "~{memory}", [])
        lw.barrier()
        first = number == 0 and told["in_turn"]
        last = number + 1 == 1 << len(bits)
        column = sum(1 << bit for k, bit in enumerate(bits) if number >> k & 1)
        settled = last and told["settled"]
        block = Block(operation, part, shared, place, column)
        _either(
            lw, beside,
            partial(write_elements, lw, block), partial(_start, lw, block, box, first, settled),
        )  # fmt: skip


def _refused(lw: Lowering, operation: Operation, box: tuple[int, ...]) -> str:
    """Whether the engine cannot write the boxes: the same in all lanes. (Where an array is empty it
    is told another place than this; then it writes nothing, nor would lanes.)"""
    _, value, *offsets = operation.operands
    places = [lw[offset].name for offset in reversed(offsets)]
    last = [n - m for n, m in zip(value.type.shape, box, strict=True)][::-1]
    size = lanes.bytes_of(value.type.scalar)
    granule = 1 if operation.attributes["aligned"] else max(ALIGNMENT // size, 1)
    return refused(lw, places, last, granule)


def _either(
    lw: Lowering, condition: str, then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """One of the two, in every lane of the CTA the same."""
    if condition in ("true", "false"):
        (then if condition == "true" else otherwise)()
        return
    first, second, after = lw.b.name("lanes"), lw.b.name("engine"), lw.b.name("after")
    lw.b.choose(condition, first, second)
    for label, body in ((first, then), (second, otherwise)):
        lw.b.label(label)
        body()
        lw.b.branch(after)
    lw.b.label(after)


def _rounds(lw: Lowering, operation: Operation, box: tuple[int, ...], size: int) -> list[int]:
    """The columns go in as few rounds as there is room for: as much as there is in any case, or was
    taken by what is over (and not older than a loop that this stands in, which needs it again)."""
    layout = lw.layout(operation.operands[1])
    loops = list(_loops(lw, operation))
    over = [b for b in lw.plan.buffers if b.last < lw.position]
    free = [b.size for b in over if not any(b.first < start <= b.last for start in loops)]
    room = max([convert.ROOM, *free])
    found = most_rounds(layout, box[-1])
    needed = 0
    while needed < len(found) and layout.numel * size >> needed > room:
        needed += 1
    return found[:needed]


def _loops(lw: Lowering, operation: Operation) -> Iterator[int]:
    """Where the loops begin that an operation stands in."""
    region = operation.parent
    while region is not None and isinstance(region.parent, Operation):
        if region.parent.name in ("for", "while"):
            yield lw.positions[region.parent] + 1
        region = region.parent.parent


def _fence(settled: bool) -> str:
    """Between what lanes did to memory and what the engine does to it."""
    return "fence.proxy.async;" if settled else "fence.proxy.async.shared::cta;"


def _start(lw: Lowering, block: Block, box: tuple[int, ...], in_turn: bool, settled: bool) -> None:
    """One lane (of the first CTA of a cluster) starts the copies, and waits."""
    operation, part, place = block.operation, block.shape, block.place
    source, _, *offsets = lw.operands(operation)
    kind, combine = operation.operands[1].type.scalar, operation.attributes.get("combine")

    def start() -> None:
        if in_turn:
            lw.b.asm("void", "cp.async.bulk.wait_group 0;", "~{memory}", [])
        places = coordinates(lw, operation.operands[0], offsets)
        places = moved(lw, places, [*([0] * (len(part) - 1)), block.column])
        for starts, offset in pieces(part, box, lanes.bytes_of(kind)):
            at = lw.shared_address(lw.b.value(f"add i32 {place}, {offset}") if offset else place)
            _copy(lw, source.name, moved(lw, places, starts), at, combine)
        lw.b.asm("void", "cp.async.bulk.commit_group;", "~{memory}", [])
        reads = "" if settled else ".read"
        lw.b.asm("void", f"cp.async.bulk.wait_group{reads} 0;", "~{memory}", [])

    lanes.guarded(lw, lw.leaders(None), start)


def _copy(lw: Lowering, target: str, places: list[str], at: str, combine: str | None) -> None:
    rank = len(places)
    what, how = ("cp", "") if combine is None else ("cp.reduce", f".{combine}")
    named = ", ".join(f"${number + 1}" for number in range(rank))
    lw.b.asm(
        "void",
        f"{what}.async.bulk.tensor.{rank}d.global.shared::cta{how}.bulk_group "
        f"[$0, {{{named}}}], [${rank + 1}];",
        f"l,{'r,' * rank}r,~{{memory}}",
        [f"i64 {target}", *(f"i32 {place}" for place in places), f"i32 {at}"],
    )

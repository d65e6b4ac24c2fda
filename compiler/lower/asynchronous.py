"""Copies from global to shared memory that run beside computation (PTX ISA, cp.async)."""

from __future__ import annotations

from blockstep.compiler.layouts.shared import SharedLayout, accesses
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item, element_of
from blockstep.ir import Operation
from blockstep.language import types as ty


@lowers("ring")
def _ring(lw: Lowering, operation: Operation) -> None:
    """The barrier: whoever reads what lay there has read it before the first copy."""
    (result,) = operation.results
    told = operation.attributes
    size = lanes.bytes_of(told["element"])
    for n in told["shape"]:
        size *= n
    place = lw.allocate(size * told["slots"], 1024, result)
    lw.barrier()
    lw.bind(result, Item(place, ty.int32))


def _slot_offset(lw: Lowering, ring: Item, slot: Item, size: int) -> str:
    moved = lw.b.value(f"mul nuw nsw i32 {slot.name}, {size}")
    return lw.b.value(f"add nuw nsw i32 {ring.name}, {moved}")


@lowers("slot")
def _slot(lw: Lowering, operation: Operation) -> None:
    ring, slot = lw.operands(operation)
    (result,) = operation.results
    layout = result.layout
    assert isinstance(layout, SharedLayout)
    size = (1 << len(layout.elements)) * lanes.bytes_of(result.type.scalar)
    lw.bind(result, Item(_slot_offset(lw, ring, slot, size), ty.int32))


@lowers("async_copy")
def _async_copy(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "ring", "slot", "active", "pointer", "mask")
    ring, slot, active, pointer, mask = (told[n] for n in told)
    assert ring is not None and slot is not None and active is not None and pointer is not None
    target: SharedLayout = operation.attributes["layout"]
    source = lw.layout(pointer)
    size = lanes.bytes_of(element_of(pointer))
    width = operation.attributes["vector"]
    start = _slot_offset(lw, lw[ring], lw[slot], (1 << len(target.elements)) * size)
    base = lw.base(source, target.address)
    window = lw.shared_address(start)
    addresses = lw[pointer]
    on = lw[mask] if mask is not None else None
    count = width * size
    how = "cg" if count == 16 else "ca"
    leader = lw.first_holder(source)
    live = (
        lw[active].name if leader == "true" else lw.b.value(f"and i1 {lw[active].name}, {leader}")
    )
    for access in accesses(source, target, width):
        register = access.registers[0][0]
        flat = lw.b.value(f"xor i32 {base}, {access.address}") if access.address else base
        moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
        where = lw.b.value(f"add i32 {window}, {moved}")
        address = lw.pick(addresses, [register])
        operands = [f"i32 {where}", f"i64 {lw.parts(address)[0]}"]
        constraints, amount = ["r", "l"], ""
        if on is not None:
            bit = lw.parts(lw.pick(on, [register]))[0]
            operands.append(f"i32 {lw.b.value(f'select i1 {bit}, i32 {count}, i32 0')}")
            constraints.append("r")
            amount = ", $2"
        place, predicate = len(operands), ""
        if live != "true":
            operands.append(f"i1 {live}")
            constraints.append("b")
            predicate = f"@${place} "
        text = f"{predicate}cp.async.{how}.shared.global [$0], [$1], {count}{amount};"
        lw.b.asm("void", text, ",".join([*constraints, "~{memory}"]), operands)


@lowers("async_commit")
def _async_commit(lw: Lowering, operation: Operation) -> None:
    lw.b.asm("void", "cp.async.commit_group;", "~{memory}", [])


@lowers("async_wait")
def _async_wait(lw: Lowering, operation: Operation) -> None:
    pending = operation.attributes["pending"]
    lw.b.asm("void", f"cp.async.wait_group {pending};", "~{memory}", [])
    if lw.options.capability >= 90:
        lw.proxy_fence()

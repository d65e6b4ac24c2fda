"""Stores and atomics through descriptors as boxes that the copy engine writes from shared memory.

For atomics that pays: the engine combines whole rows. A store pays where the block would change hands through shared memory
anyway, to be stored by lanes side by side; then it goes there from where it was computed, in the
engine's order. What a kernel stores through a descriptor of its own always goes that way, as it asked.

The engine runs beside the lanes, and memory is to change in the order of the program. A store that
other accesses may meet is *settled*: lanes' accesses before it are fenced off, and it is complete
before anything follows. One that only such stores can meet waits for them before it starts
(*in_turn*), so that a loop of them runs beside what the loop computes.

The engine writes no box that begins below zero, or in a row at no multiple of 16 bytes. Where the
offsets are constants such a store stays what it is; else it is tested when it comes, and what is known
of the innermost offset now (*aligned*) is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blockstep.compiler.analysis import Hint, analyse
from blockstep.compiler.analysis.facts import AxisFacts
from blockstep.compiler.layouts.staging import box_lengths, can_be_cut, most_rounds, widths
from blockstep.compiler.passes.boxes import ALIGNMENT, Box, box_of
from blockstep.compiler.passes.fold import constant_of
from blockstep.compiler.passes.fuel import left, spend
from blockstep.compiler.passes.maps import map_of, parent_of
from blockstep.compiler.passes.ordering import READS, STORES, WRITES, orders, pointer_of, roots_of
from blockstep.ir import TENSOR_REDUCE, TENSOR_STORE, Function, Layout, Operation, Value
from blockstep.language import types as ty

ROOM = 1 << 15  # bytes of shared memory that a store takes at most, if there is no more
_FIRST = 90  # the architecture
_TAKEN = (
    ty.float16, ty.bfloat16, ty.float32, ty.float64, ty.int8, ty.uint8, ty.int16, ty.uint16,
    ty.int32, ty.uint32, ty.int64, ty.uint64,
)  # fmt: skip


@dataclass(frozen=True)
class Stores:
    """Placed IR in and out."""

    hints: Mapping[str, Hint]
    capability: int = 90
    name: str = "stores"

    def apply(self, function: Function) -> None:
        """Rewrites the stores that the engine can do."""
        if self.capability < _FIRST:
            return
        found = []
        for operation in list(function.walk()):
            if left() and _may_be_one(operation):
                made = self._written(operation)
                found += [] if made is None else [made]
        if found:
            _order(function, found)
            facts = analyse(function, self.hints)
            for operation in found:
                operation.attributes["aligned"] = _is_aligned(operation, facts)

    def _written(self, store: Operation) -> Operation | None:
        pointer, value, *mask = store.operands
        combine = store.attributes.get("combine")
        box = box_of(pointer, mask[0] if mask else None)
        if box is None or _is_refused(box):
            return None
        held = _before_conversions(value)
        pays = held is not value or not box.passed or combine is not None
        width = _width(box, held, self.capability) if pays else None
        if width is None:
            return None
        where = map_of(box, width, "zero", store)
        operands, told = [where, held, *box.offsets], {"settled": False, "in_turn": False}
        if combine is None:
            made = Operation(TENSOR_STORE, operands, [], told, location=store.location)
        else:
            told |= {"combine": combine}
            made = Operation(TENSOR_REDUCE, operands, [held.type], told, location=store.location)
            made.results[0].layout = held.layout
        made.insert_before(store)
        store.erase()
        spend(store)
        return made


def _may_be_one(operation: Operation) -> bool:
    """A store, or an atomic that tells nobody what it found and orders nothing."""
    told = operation.attributes
    if operation.name != "atomic_rmw":
        return operation.name == "store"
    return not operation.results[0].uses and (told["sem"], told["scope"]) == ("relaxed", "gpu")


def _is_refused(box: Box) -> bool:
    """Whether constants alone say that the engine does not write the box."""
    known = [constant_of(offset) for offset in box.offsets]
    inner = int(known[-1] or 0) * box.element.itemsize
    return any(n is not None and n < 0 for n in known) or inner % ALIGNMENT != 0


def _is_aligned(store: Operation, facts: Mapping[Value, AxisFacts]) -> bool:
    """Whether a box is known to begin at a multiple of 16 bytes of a row."""
    _, value, *offsets = store.operands
    return facts[offsets[-1]].everywhere * value.type.scalar.itemsize % ALIGNMENT == 0


def _before_conversions(value: Value) -> Value:
    """The block where it was computed."""
    while (producer := value.producer) is not None and producer.name == "convert":
        if not isinstance(producer.operands[0].layout, Layout):
            break
        value = producer.operands[0]
    return value


def _width(box: Box, value: Value, capability: int) -> int | None:
    """The swizzle of the block in shared memory, if the engine has such boxes and elements, and the
    block has room there, in rounds if it must."""
    layout = value.layout
    if box.element.scalar not in _TAKEN and not box.element.is_fp8():
        return None
    if not isinstance(layout, Layout) or not can_be_cut(box.shape):
        return None
    size = box.element.itemsize
    for width in widths(layout, size, capability):
        rounds = most_rounds(layout, box_lengths(box.shape, size, width)[-1])
        if layout.numel * size >> len(rounds) <= ROOM:
            return width
    return None


def _order(function: Function, stores: list[Operation]) -> None:
    """Marks the stores that have to wait for others, or others for them."""
    every = list(function.walk())
    ordered = any(orders(op) and op.name != "while" and op not in stores for op in every)
    lanes = [op for op in every if op.name in READS | WRITES and op not in stores]
    touched = [roots_of(pointer_of(op)) for op in lanes]
    written = {store: roots_of(pointer_of(store)) for store in stores}
    for store, mine in written.items():
        settled = ordered or any(_meet(mine, theirs) for theirs in touched)
        others = any(
            _meet(mine, theirs) and not _alike(store, one)
            for one, theirs in written.items()
            if one is not store
        )
        again = _is_repeated(store) and not _alike(store, store)
        store.attributes["settled"] = settled
        store.attributes["in_turn"] = not settled and (others or again) and not _follows(store)


def _follows(store: Operation) -> bool:
    """Whether the store comes after one that waited for all others, and writes elsewhere than that
    one and those between."""
    region = store.parent
    assert region is not None
    for before in reversed(region.operations[: region.operations.index(store)]):
        inside = [op for op in before.walk() if op.name in STORES]
        if not inside:
            continue
        if inside != [before] or not _apart(store, before):
            return False
        if before.attributes["in_turn"]:
            return True
    return False


def _apart(one: Operation, other: Operation) -> bool:
    """Whether two boxes of a map begin a known distance apart, and do not meet."""
    if one.operands[0] is not other.operands[0]:
        return False
    shape = one.operands[1].type.shape
    for mine, theirs, n in zip(one.operands[2:], other.operands[2:], shape, strict=True):
        (start, here), (base, there) = _place(mine), _place(theirs)
        if start is base and abs(here - there) >= n:
            return True
    return False


def _place(offset: Value) -> tuple[Value | None, int]:
    """An offset as a value and what is added to it."""
    made, total = offset.producer, 0
    while made is not None and made.name == "add":
        left, right = made.operands
        number = constant_of(right)
        if number is None:
            break
        offset, total = left, total + int(number)
        made = offset.producer
    number = constant_of(offset)
    return (offset, total) if number is None else (None, total + int(number))


def _alike(one: Operation, other: Operation) -> bool:
    """Whether two atomics leave the same in either order."""
    how = one.attributes.get("combine")
    return how is not None and how == other.attributes.get("combine")


def _meet(mine: set[Value | None], theirs: set[Value | None]) -> bool:
    return bool(mine & theirs) or None in mine | theirs


def _is_repeated(operation: Operation) -> bool:
    while (around := parent_of(operation)) is not None:
        if around.name in ("for", "while"):
            return True
        operation = around
    return False


__all__ = ["Stores"]

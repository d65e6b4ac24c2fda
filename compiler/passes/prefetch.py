"""Which loads of a loop can run ahead of it: their blocks only go to shared memory, and nothing but
pure operations on what the loop carries decides their addresses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blockstep.compiler.layouts.shared import SharedLayout, widest
from blockstep.compiler.passes.boxes import Boxed, boxed
from blockstep.compiler.passes.effects import is_pure
from blockstep.compiler.passes.maps import is_inside
from blockstep.compiler.passes.ordering import may_run_ahead
from blockstep.ir import Operation, Value

LEAST = 4  # bytes that one asynchronous copy of a lane moves at least


@dataclass(slots=True)
class Prefetch:
    """A load, and what becomes of it until its block is in shared memory."""

    load: Operation
    chain: tuple[Operation, ...]  # from the conversion back to the load
    stored: SharedLayout  # of the block as it is loaded, or as it was reshaped to
    vector: int
    box: Boxed | None
    ring: Value | None = None
    map: Value | None = None  # of the array that a box is of

    @property
    def result(self) -> Value:
        """The block in shared memory, as it is read: its axes may be permuted."""
        return self.chain[0].results[0]

    @property
    def layout(self) -> SharedLayout:
        """Of the block as it is read."""
        found = self.result.layout
        assert isinstance(found, SharedLayout)
        return found

    @property
    def bytes(self) -> int:
        """Of one block."""
        return int((1 << len(self.stored.elements)) * self.load.results[0].type.scalar.itemsize)

    @property
    def inputs(self) -> list[Value]:
        """What must be known to start the copy."""
        if self.box is not None:
            return list(self.box.box.offsets)
        parts = parts_of(self.load)
        return [v for v in (parts["pointer"], parts["mask"]) if v is not None]


def prefetches(loop: Operation, engine: bool) -> list[Prefetch]:
    """The loads of a loop that can run ahead; `engine`: whether there is a copy engine."""
    (body,) = loop.regions
    candidates = (_candidate(op, loop, engine) for op in body.operations)
    found = [one for one in candidates if one is not None]
    return [
        one
        for one in found
        if may_run_ahead(one.load, loop) and slice_of(loop, one.inputs) is not None
    ]


def _candidate(load: Operation, loop: Operation, engine: bool) -> Prefetch | None:
    if load.name != "load" or not load.results[0].type.shape or load.attributes.get("volatile"):
        return None
    chain = _chain(load)
    if chain is None:
        return None
    stored = chain[0].results[0].layout
    if not isinstance(stored, SharedLayout):
        return None
    if chain[1].name == "permute":
        dims = chain[1].attributes["dims"]
        stored = stored.permuted([dims.index(axis) for axis in range(len(dims))])
    parts, element = parts_of(load), load.results[0].type.scalar
    assert parts["pointer"] is not None
    box = None
    if engine:
        box = boxed(load, parts["pointer"], parts["mask"], parts["other"], stored)
    if box is not None and not any(is_inside(value, loop) for value in box.box.array):
        return Prefetch(load, chain, stored, 0, box)
    if any(operation.name == "reshape" for operation in chain):
        return None
    source = load.results[0].layout
    vector = min(load.attributes.get("vector", 1), widest(source, stored, element.itemsize))
    if vector * element.itemsize < LEAST or element.is_int1() or not _zero_filled(load):
        return None
    return Prefetch(load, chain, stored, vector, None)


def _chain(load: Operation) -> tuple[Operation, ...] | None:
    """The operations from the conversion into shared memory back to the load: nothing between but
    a reshape and then a permutation of axes."""
    found = [load]
    while True:
        uses = found[0].results[0].uses
        if len(uses) != 1 or uses[0][0].parent is not load.parent:
            return None
        user = uses[0][0]
        found.insert(0, user)
        if user.name == "convert":
            return tuple(found)
        if user.name == "reshape" and len(found) == 2:
            continue
        if user.name != "permute" or "permute" in [operation.name for operation in found[1:]]:
            return None


def parts_of(load: Operation) -> dict[str, Value | None]:
    """Pointer, mask and other of a load."""
    slots = load.attributes.get("operand_slots", (True,) * len(load.operands))
    given = iter(load.operands)
    found = {
        name: next(given) if there else None
        for name, there in zip(("pointer", "mask", "other"), slots, strict=False)
    }
    return {name: found.get(name) for name in ("pointer", "mask", "other")}


def _zero_filled(load: Operation) -> bool:
    """Whether a masked lane gets zero, as a copy leaves it."""
    other = parts_of(load)["other"]
    while other is not None and other.producer is not None:
        producer = other.producer
        if producer.name == "constant":
            value = producer.attributes["value"]
            return bool(value == 0 and str(value)[0] != "-")
        if producer.name not in ("splat", "cast", "broadcast"):
            return False
        other = producer.operands[0]
    return other is None


def slice_of(loop: Operation, roots: Iterable[Value]) -> set[Operation] | None:
    """The pure operations of the loop's body that some values need, in this iteration and, through
    what is carried, in earlier ones; None if one is not pure."""
    (body,) = loop.regions
    needed: set[Operation] = set()
    work = list(roots)
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.owner is body:
            if value.index:
                work.append(body.terminator.operands[value.index - 1])
        elif value.producer is not None and value.producer.parent is body:
            if not is_pure(value.producer):
                return None
            needed.add(value.producer)
            work += value.producer.operands
    return needed

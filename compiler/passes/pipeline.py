"""Software pipelining: what a loop's products read is copied into shared memory iterations ahead.

Of a loop whose loads only feed products, the addresses and masks (pure operations on what the loop
carries) are computed a second time, `stages - 1` iterations ahead, and the loads become
asynchronous copies into a ring of `stages` slots. Placed IR in, placed IR out; the sums and their
order stay what they were.

    prologue   for s < stages - 1: copy(iteration s) -> slot s; commit
    iteration  wait until its slot is filled; barrier; read the slot; products in flight;
               copy(iteration + stages - 1) -> the slot read in the iteration before; commit

Boxes of descriptors are copied by the engine: one lane starts it, and each slot has a barrier that
counts the bytes, whose phase turns each time round the ring.

Where the sums only go round the loop, an iteration does not wait for its own products, only for
those of the iteration before, and a second barrier stands before the copy into their slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from blockstep.compiler.passes.fuel import left, spend
from blockstep.compiler.passes.maps import map_of
from blockstep.compiler.passes.prefetch import Prefetch, parts_of, prefetches, slice_of
from blockstep.ir import (
    ASYNC_COMMIT,
    ASYNC_COPY,
    ASYNC_WAIT,
    DOT_WAIT,
    FOR,
    PHASE_WAIT,
    PHASES,
    PHASES_END,
    RING,
    SLOT,
    TENSOR_COPY,
    Function,
    Location,
    Operation,
    Region,
    SharedLayout,
    Value,
)
from blockstep.ir.core import copy_operation
from blockstep.language import types as ty
from blockstep.language.op import OPS, Op

_COUNTS = frozenset({"num_programs"})
"""Operations whose results are above zero."""


@dataclass(frozen=True)
class Pipeline:
    """Loops of products, with `stages` slots; fewer than two leave them as they are."""

    stages: int = 3
    capability: int = 90
    name: str = "pipeline"

    def apply(self, function: Function) -> None:
        """Pipelines every innermost loop that can be."""
        for operation in list(function.walk()):
            if operation.op is FOR:
                told = operation.attributes.get("num_stages")
                stages = self.stages if told is None else int(told)
                found = prefetches(operation, self.capability >= 90)
                if stages > 1 and found and left():
                    _Pipelining(operation, found, stages).run()
                    spend(operation)


@dataclass(slots=True)
class _Pipelining:
    loop: Operation
    loads: list[Prefetch]
    stages: int
    phases: Value | None = None  # the barriers of slots that the engine fills
    ahead: list[int] = field(default_factory=list)  # carried values that addresses need
    order: list[Operation] = field(default_factory=list)  # what computes addresses and masks

    @property
    def location(self) -> Location | None:
        """Of the first load."""
        return self.loads[0].load.location

    def run(self) -> None:
        (body,) = self.loop.regions
        roots = [v for one in self.loads for v in one.inputs]
        needed = slice_of(self.loop, roots)
        assert needed is not None
        self.order = [op for op in body.operations if op in needed]
        read = [*roots, *(v for op in self.order for v in op.operands)]
        self.ahead = sorted(self._carried_reach(body, read))
        self._rings()
        state = self._prologue(body)
        self._rewrite(body, state)

    def _carried_reach(self, body: Region, read: list[Value]) -> set[int]:
        """Carried values among those that are read, and those that become them."""
        found: set[int] = set()
        work = [v for v in read if v.owner is body and v.index]
        while work:
            value = work.pop()
            if value.index in found:
                continue
            found.add(value.index)
            following = body.terminator.operands[value.index - 1]
            if following.owner is body and following.index:
                work.append(following)
        return found

    # ---- building

    def _emit(
        self, name: str | Op, operands: list[Value], kinds: list[ty.dtype], attributes: dict[str, Any],
        before: Operation, layout: Any = None,
    ) -> Value | None:  # fmt: skip
        op = OPS[name] if isinstance(name, str) else name
        made = Operation(op, operands, kinds, attributes, location=self.location)
        made.insert_before(before)
        if not made.results:
            return None
        made.results[0].layout = layout
        return made.results[0]

    def _constant(self, value: int, kind: ty.dtype, before: Operation) -> Value:
        found = self._emit("constant", [], [kind], {"type": kind, "value": value}, before)
        assert found is not None
        return found

    def _rings(self) -> None:
        for one in self.loads:  # before the rings, whose memory making a map may use
            if one.box is not None:
                one.map = map_of(one.box.box, one.box.width, one.box.padding, self.loop)
        for one in self.loads:
            shape, element = tuple(one.stored.shape), one.load.results[0].type.scalar
            told = {"slots": self.stages, "shape": shape, "element": element}
            one.ring = self._emit(RING, [], [ty.int32], told, self.loop)
        if any(one.box for one in self.loads):
            told = {"slots": self.stages}
            self.phases = self._emit(PHASES, [], [ty.int32], told, self.loop)

    def _fetch(
        self, state: list[Value], slot: Value, body: Region, before: Operation
    ) -> list[Value]:
        """Copies of the iteration that `state` (index, carried values) describes, if there is one,
        and the state of the next."""
        index, *carried = state
        upper, step = self.loop.operands[1:3]
        values: dict[Value, Value] = {body.arguments[0]: index}
        for place, value in zip(self.ahead, carried, strict=True):
            values[body.arguments[place]] = value
        active = self._goes_on(index, upper, step, before)
        mapping = _Outer(values)
        for operation in self.order:
            copy_operation(operation, mapping, {}).insert_before(before)
        total = sum(one.bytes for one in self.loads if one.box)
        for one in self.loads:
            if one.box is not None:
                self._tensor_copy(one, mapping, slot, active, before, total)
                total = 0  # the first copy of a slot announces the bytes of all
            else:
                self._copy(one, mapping, slot, active, before)
        if any(one.box is None for one in self.loads):
            self._emit(ASYNC_COMMIT, [], [], {}, before)
        following = self._emit("add", [index, step], [index.type], {}, before)
        assert following is not None
        yielded = body.terminator.operands
        return [following, *(mapping[yielded[place - 1]] for place in self.ahead)]

    def _goes_on(self, index: Value, upper: Value, step: Value, before: Operation) -> Value:
        """Whether there is an iteration with this index: an int1."""
        sign = _sign(step)
        tests = {1: ["lt"], -1: ["gt"], 0: ["gt", "lt"]}[sign]
        found = [self._emit(test, [index, upper], [ty.int1], {}, before) for test in tests]
        if sign == 0:
            zero = self._constant(0, step.type, before)
            down = self._emit("lt", [step, zero], [ty.int1], {}, before)
            assert down is not None and None not in found
            operands = [v for v in (down, *found) if v is not None]
            found = [self._emit("select", operands, [ty.int1], {}, before)]
        (active,) = found
        assert active is not None
        return active

    def _tensor_copy(
        self, one: Prefetch, mapping: _Outer, slot: Value, active: Value, before: Operation,
        announced: int,
    ) -> None:  # fmt: skip
        assert one.map is not None and one.ring is not None and self.phases is not None
        places = [mapping[v] for v in one.inputs]
        operands = [one.ring, self.phases, slot, active, one.map, *places]
        told = {
            "element": one.load.results[0].type.scalar, "shape": tuple(one.stored.shape),
            "layout": one.stored, "announced": announced,
        }  # fmt: skip
        self._emit(TENSOR_COPY, operands, [], told, before)

    def _copy(
        self, one: Prefetch, mapping: _Outer, slot: Value, active: Value, before: Operation
    ) -> None:
        parts = parts_of(one.load)
        pointer, mask = parts["pointer"], parts["mask"]
        assert pointer is not None and one.ring is not None
        operands = [one.ring, slot, active, mapping[pointer]]
        if mask is not None:
            operands.append(mapping[mask])
        told = {
            "vector": one.vector, "layout": one.stored,
            "operand_slots": (True, True, True, True, mask is not None),
        }  # fmt: skip
        self._emit(ASYNC_COPY, operands, [], told, before)

    def _prologue(self, body: Region) -> list[Value]:
        state = [self.loop.operands[0], *(self.loop.operands[2 + place] for place in self.ahead)]
        for number in range(self.stages - 1):
            slot = self._constant(number, ty.int32, self.loop)
            state = self._fetch(state, slot, body, self.loop)
        return state

    def _rewrite(self, body: Region, state: list[Value]) -> None:
        """The loop carries the state of the fetch, and the slots to read and to fill."""
        loop = self.loop
        first = [
            *state,
            self._constant(0, ty.int32, loop),
            self._constant(self.stages - 1, ty.int32, loop),
        ]
        if self.phases is not None:
            first.append(self._constant(0, ty.int32, loop))
        arguments = []
        for value in first:
            loop.add_operand(value)
            argument = body.add_argument(value.type)
            argument.layout = value.layout
            arguments.append(argument)
            result = Value(value.type, loop, len(loop.results))
            result.layout = value.layout
            loop.results.append(result)
        phase = arguments.pop() if self.phases is not None else None
        *ahead, read, write = arguments
        self._read(body, read, phase)
        last = body.terminator
        place = _after_first_product(body, last)
        waits = _going_round(loop)
        if waits:
            place = self._overlap(waits)
        following = self._fetch(list(ahead), write, body, place)
        for one in self.loads:
            for operation in one.chain:
                operation.erase()
        count = self._constant(self.stages, ty.int32, last)
        zero = self._constant(0, ty.int32, last)
        one_more = self._constant(1, ty.int32, last)
        turned = [self._turn(slot, one_more, count, zero, last) for slot in (read, write)]
        if phase is not None:
            turned.append(self._flip(phase, turned[0], zero, one_more, last))
            self._end()
        for value in [*following, *turned]:
            last.add_operand(value)

    def _overlap(self, waits: list[Operation]) -> Operation:
        """Leaves the products in flight from one iteration to the next; where copies may start."""
        (body,) = self.loop.regions
        products = [wait.operands[0].producer for wait in waits]
        last = max(body.operations.index(p) for p in products if p is not None)
        place = body.operations[last + 1]
        for wait in waits:
            index = next(i for use, i in wait.results[0].uses)
            result = self.loop.results[index]
            after = Operation(
                DOT_WAIT, [result], [result.type], {"pending": 0}, location=wait.location
            )
            _insert_behind(self.loop, after)
            after.results[0].layout = result.layout
            for use, i in list(result.uses):
                if use is not after:
                    use.set_operand(i, after.results[0])
            if place is wait:
                place = body.operations[body.operations.index(wait) + 1]
            wait.replace_with(list(wait.operands))
        self._emit(DOT_WAIT, [], [], {"pending": len(waits)}, place)
        self._emit("barrier", [], [], {}, place)
        return place

    def _turn(self, slot: Value, one: Value, count: Value, zero: Value, before: Operation) -> Value:
        more = self._emit("add", [slot, one], [ty.int32], {}, before)
        assert more is not None
        past = self._emit("eq", [more, count], [ty.int1], {}, before)
        assert past is not None
        found = self._emit("select", [past, zero, more], [ty.int32], {}, before)
        assert found is not None
        return found

    def _flip(self, phase: Value, slot: Value, zero: Value, one: Value, before: Operation) -> Value:
        """The phase of the next iteration: the other one once the ring begins anew."""
        again = self._emit("eq", [slot, zero], [ty.int1], {}, before)
        other = self._emit("xor", [phase, one], [ty.int32], {}, before)
        assert again is not None and other is not None
        found = self._emit("select", [again, other, phase], [ty.int32], {}, before)
        assert found is not None
        return found

    def _end(self) -> None:
        assert self.phases is not None
        told = {"slots": self.stages}
        made = Operation(PHASES_END, [self.phases], [], told, location=self.location)
        _insert_behind(self.loop, made)

    def _read(self, body: Region, read: Value, phase: Value | None) -> None:
        first = body.operations[0]
        if phase is not None:
            assert self.phases is not None
            self._emit(PHASE_WAIT, [self.phases, read, phase], [], {}, first)
        if any(one.box is None for one in self.loads):
            self._emit(ASYNC_WAIT, [], [], {"pending": self.stages - 2}, first)
        self._emit("barrier", [], [], {}, first)
        for one in self.loads:
            result = one.result
            told = {"shape": tuple(result.type.shape), "element": result.type.scalar}
            assert one.ring is not None
            block = self._emit(SLOT, [one.ring, read], [result.type], told, first, one.layout)
            assert block is not None
            result.replace_with(block)


class _Outer(dict[Value, Value]):
    """Values of the loop by the copies that stand for them; a value from outside is itself."""

    def __missing__(self, value: Value) -> Value:
        return value


def _after_first_product(body: Region, last: Operation) -> Operation:
    """Copies are started once a product is under way; without one, at the end."""
    for number, operation in enumerate(body.operations):
        if operation.name == "dot" and operation.attributes.get("in_flight"):
            return body.operations[number + 1]
    return last


def _going_round(loop: Operation) -> list[Operation]:
    """The waits for the loop's products, if the sums of each only go round the loop: they are
    carried, and nothing but the product itself touches them. What the products read must outlive
    the iteration: a slot does, a factor that each iteration writes anew does not."""
    (body,) = loop.regions
    found = []
    for operation in body.walk():
        if operation.name != "dot":
            continue
        uses = operation.results[0].uses
        if (
            not operation.attributes.get("in_flight")
            or len(uses) != 1
            or len(operation.operands) < 3
        ):
            return []
        wait, sums = uses[0][0], operation.operands[2]
        if wait.name != "dot_wait" or wait.parent is not body or sums.owner is not body:
            return []
        after = wait.results[0].uses
        if [use for use, _ in after] != [body.terminator] or len(sums.uses) != 1:
            return []
        if after[0][1] != sums.index - 1:
            return []
        if any(_written_anew(factor, body) for factor in operation.operands[:2]):
            return []
        found.append(wait)
    return found


def _written_anew(factor: Value, body: Region) -> bool:
    """Whether the loop's body computes a factor and puts it into shared memory itself."""
    producer = factor.producer
    if producer is None or not isinstance(factor.layout, SharedLayout):
        return False
    return producer.parent is body and producer.name != "slot"


def _insert_behind(operation: Operation, new: Operation) -> None:
    region = operation.parent
    assert region is not None
    region.operations.insert(region.operations.index(operation) + 1, new)
    new.parent = region


def _sign(step: Value) -> int:
    """1 or -1 for a step that is known to go up or down, 0 for one that only the launch knows."""
    producer = step.producer
    if producer is not None and producer.name == "constant":
        return -1 if producer.attributes["value"] < 0 else 1
    known = step.type.is_int_unsigned() or (producer is not None and producer.name in _COUNTS)
    return 1 if known else 0

"""What the grid machine asks of a function before it runs: can it, and which memory is written.

`Refused` says why a function needs the step machine: it prints, or it may wait for another program
instance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from blockstep.findings import Span
from blockstep.ir import PLACED, Function, Operation, Value

PASSES_POINTERS = frozenset(
    {"addptr", "splat", "broadcast", "expand_dims", "permute", "reshape", "select", "box_pointers",
     "hint", "bitcast", "int_to_pointer", "join", "cat", "flip", "gather",
     "convert"}
)  # fmt: skip
ATOMICS = frozenset(
    {"atomic_rmw", "atomic_cas", "atomic_load", "atomic_store", "tensor_reduce"}
)  # fmt: skip
_ANY_ORDER = frozenset({"add", "and", "or", "xor", "max", "min"})
ORDERED = frozenset({"print", "device_query", "globaltimer", "map", "map_packed"})
READS = frozenset(
    {"load", "async_copy", "tensor_copy", "tensor_reduce", "atomic_rmw", "atomic_cas",
     "atomic_load"}
)  # fmt: skip
POINTERS = {"async_copy": 3}  # which operand is the pointer, where it is not the first
MAPS = {
    "tensor_copy": 4,
    "tensor_store": 0,
    "tensor_reduce": 0,
}  # which operand is the map of the array
WRITES = frozenset(
    {"store", "tensor_store", "tensor_reduce", "atomic_rmw", "atomic_cas", "atomic_store"}
)  # fmt: skip
_NEVER_WAIT = frozenset({"atomic_rmw", "atomic_cas", "tensor_reduce"})
_STRUCTURED = frozenset({"for", "while", "if"})
PLAIN = (READS | WRITES) - ATOMICS


class Refused(Exception):
    """The launch belongs on the step machine."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which parameters' memory is written and read, by parameter name; None: it cannot be told."""

    written: frozenset[str] | None
    read: frozenset[str] | None
    steering: frozenset[str] | None  # read, and what was read decides where something is stored
    plain: frozenset[str] | None  # by more than atomics that keep each other whole
    has_atomics: bool
    has_dot: bool
    is_placed: bool  # it moves blocks between holders, which may run beside it
    in_turns: bool = False  # whether instances may meet in several atomics
    repeated: frozenset[Operation] = frozenset()  # atomics that one instance may make twice
    any_order: bool = True  # whether the order of each atomic among its like cannot be seen
    alike: bool = True  # whether there is nothing but atomics of one such kind


def plan(function: Function) -> Plan:
    """Looks a function over. Raises Refused."""
    operations = list(function.walk())
    for operation in operations:
        if operation.name in ORDERED:
            raise Refused(f"`{operation.name}` happens in the order of program instances")
        if operation.name == "call":
            raise Refused("a function is kept as a call")
        if operation.attributes.get("volatile"):
            raise Refused("a volatile load may wait for another program instance")
    atomics = [o for o in operations if o.name in ATOMICS]
    for atomic in atomics:
        if atomic.name not in _NEVER_WAIT or _inside(atomic, "while"):
            raise Refused("an atomic may wait for another program instance")
    for operation in operations:
        if operation.name == "while" and _polls(operation):
            raise Refused("a loop may wait for another program instance")
    places = Counter(map(_place, atomics))  # a helper's atomic has one place in all its callers
    repeated = frozenset(o for o in atomics if _inside(o, "for") or places[_place(o)] > 1)
    return Plan(
        written=reached([o for o in operations if o.name in WRITES]),
        read=reached([o for o in operations if o.name in READS]),
        steering=reached(_steering(operations)),
        plain=reached(_plain(operations, atomics)),
        has_atomics=bool(atomics),
        has_dot=any("dot" in o.name for o in operations),
        is_placed=any(o.name in PLACED for o in operations),
        in_turns=len(atomics) > 1 or bool(repeated),
        repeated=repeated,
        any_order=all(map(any_order, atomics)),
        alike=all(map(any_order, atomics)) and len(set(map(_sum, atomics))) <= 1,
    )


def _plain(operations: list[Operation], atomics: list[Operation]) -> list[Operation]:
    """Loads and stores, and atomics that do not keep each other whole: those that only a CTA sees
    as such, those of two widths."""
    mixed = len({o.results[0].type.scalar.itemsize for o in atomics}) > 1
    narrow = [o for o in atomics if mixed or o.attributes.get("scope") == "cta"]
    return [o for o in operations if o.name in PLAIN] + narrow


def any_order(operation: Operation) -> bool:
    """Whether it makes no difference in which order such atomics act."""
    if operation.attributes.get("combine") not in _ANY_ORDER:
        return False  # an atomic store has no result either
    result = operation.results[0]
    return bool(result.type.scalar._integer) and not result.uses


def _sum(operation: Operation) -> Any:
    return operation.attributes.get("combine"), operation.results[0].type.scalar


def _place(operation: Operation) -> Span | None:
    return None if operation.location is None else operation.location.span


def _polls(loop: Operation) -> bool:
    """Whether the test of a `while` looks at one place in memory again and again."""
    inside = {v for region in loop.regions for o in region.walk() for v in o.results}
    inside |= {a for region in loop.regions for a in region.arguments}
    return any(
        o.name == "load" and not _depends(o.operands[0], inside) for o in loop.regions[0].walk()
    )


def _depends(value: Value, inside: set[Value]) -> bool:
    """Whether a value changes from turn to turn: it comes from what the loop carries."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return value in inside
    if value not in inside:
        return False
    return owner.name in ("for", "while", "if", "load") or any(
        _depends(v, inside) for v in owner.operands
    )


def _around(operation: Operation) -> Iterator[Operation]:
    """The structured operations that an operation lies in, innermost first."""
    while operation.parent is not None and isinstance(operation.parent.parent, Operation):
        operation = operation.parent.parent
        yield operation


def _inside(operation: Operation, loop: str) -> bool:
    return any(outer.name == loop for outer in _around(operation))


def reached(operations: list[Operation]) -> frozenset[str] | None:
    """The parameters through which operations reach memory."""
    names: set[str] = set()
    for operation in operations:
        sources = set(_sources(_pointer(operation), set()))
        if None in sources:
            return None
        names |= {name for name in sources if name is not None}
    return frozenset(names)


def _pointer(operation: Operation) -> Value:
    """The pointer of an access: of the copy engine's, the base of the array."""
    if operation.name not in MAPS:
        return operation.operands[POINTERS.get(operation.name, 0)]
    made = operation.operands[MAPS[operation.name]].producer
    assert made is not None, "the verifier has seen it"
    return made.operands[0]


def _sources(value: Value, seen: set[Value]) -> Iterator[str | None]:
    """The parameters that a pointer may come from; None for anywhere."""
    if value in seen:
        return
    seen.add(value)
    owner = value.owner
    if isinstance(owner, Operation) and owner.name in PASSES_POINTERS:
        before = [v for v in owner.operands if v.type.scalar.is_ptr()]
    elif not isinstance(owner, Operation) and isinstance(owner.parent, Function):
        yield value.name
        return
    else:
        before = _choices(value)
        if not before:
            yield None
    for one in before:
        yield from _sources(one, seen)


def _choices(value: Value) -> list[Value]:
    """The values that a structured operation's result, or the argument of a region, may be."""
    owner, index = value.owner, value.index
    if isinstance(owner, Operation):
        if owner.name == "for":
            return [owner.operands[3 + index], owner.regions[0].terminator.operands[index]]
        if owner.name == "while":
            return [owner.regions[0].terminator.operands[1 + index]]
        if owner.name == "if":
            return [region.terminator.operands[index] for region in owner.regions]
        return []
    parent = owner.parent
    if not isinstance(parent, Operation):
        return []
    if parent.name == "for":
        if index == 0:
            return list(parent.operands[:3])
        return [parent.operands[2 + index], parent.regions[0].terminator.operands[index - 1]]
    test, body = parent.regions
    if owner is body:
        return [test.terminator.operands[1 + index]]
    return [parent.operands[index], body.terminator.operands[index]]


def _tests(structure: Operation) -> list[Value]:
    """What decides which of its regions run, and how often."""
    if structure.name == "while":
        return [structure.regions[0].terminator.operands[0]]
    return list(structure.operands[: 3 if structure.name == "for" else 1])


def _steering(operations: list[Operation]) -> list[Operation]:
    """The loads and atomics that decide where a store goes, or whether it is made."""
    stores = [o for o in operations if o.name in ("store", "tensor_store")]
    left = [v for o in stores for v in (o.operands[0], *o.operands[2:])]  # addresses, masks
    left += [v for o in stores for outer in _around(o) for v in _tests(outer)]
    seen: set[Value] = set()
    found = []
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        structure = owner if isinstance(owner, Operation) else owner.parent
        if structure is owner and owner.name not in _STRUCTURED:
            found += [owner] if owner.name in READS else []
            left += owner.operands
        elif isinstance(structure, Operation):
            left += [*_choices(value), *_tests(structure)]
    return found

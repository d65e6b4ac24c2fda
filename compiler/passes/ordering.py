"""Whether a loop's load may run ahead of the iteration it stands in.

It may not pass a store to what it reads, nor anything that orders accesses. Memory is told apart by
the parameter that a pointer comes from: a kernel that is given one memory twice, and stores through
one name what it loads through the other in a later iteration, has to order that with a barrier.
"""

from __future__ import annotations

from blockstep.ir import Operation, Value

STORES = frozenset({"tensor_store", "tensor_reduce"})  # of the copy engine
WRITES = frozenset({"store", "atomic_store", "atomic_rmw", "atomic_cas", *STORES})
READS = frozenset({"load", "async_copy", "atomic_load"})
_ORDERS = frozenset(
    {"atomic_rmw", "atomic_cas", "atomic_load", "atomic_store", "barrier", "gdc_wait", "while",
     "tensor_reduce"}
)  # fmt: skip


def pointer_of(access: Operation) -> Value:
    """The pointer that an access goes through: of the copy engine's, the base of the array."""
    if access.name in STORES:
        made = access.operands[0].producer
        assert made is not None and made.name == "tensor_map", "the verifier has seen it"
        return made.operands[0]
    return access.operands[3 if access.name == "async_copy" else 0]


def orders(operation: Operation) -> bool:
    """Whether an operation orders the accesses around it."""
    return operation.name in _ORDERS or bool(operation.attributes.get("volatile"))


def may_run_ahead(load: Operation, loop: Operation) -> bool:
    """Whether nothing in the loop stands in the way of a load of an earlier iteration."""
    mine = roots_of(load.operands[0])
    for operation in loop.walk():
        if orders(operation):
            return False
        if operation.name in WRITES:
            theirs = roots_of(pointer_of(operation))
            if mine & theirs or None in mine | theirs:
                return False
    return True


def roots_of(pointer: Value) -> set[Value | None]:
    """The parameters that a pointer may come from; None for one that came out of memory."""
    found: set[Value | None] = set()
    work, seen = [pointer], {pointer}
    while work:
        for value in _from(work.pop(), found):
            if value not in seen:
                seen.add(value)
                work.append(value)
    return found


def _from(value: Value, found: set[Value | None]) -> list[Value]:
    """The pointers that a pointer is made of; a parameter, or a stranger, is put down."""
    owner = value.owner
    if isinstance(owner, Operation):
        if owner.name in ("for", "while", "if"):
            return _out_of(owner, value.index)
        given = [v for v in owner.operands if v.type.scalar.is_ptr()]
        if not given or owner.name in ("load", "int_to_pointer"):
            found.add(None)
        return given if owner.name != "load" else []  # what memory held points anywhere
    parent = owner.parent
    if not isinstance(parent, Operation):
        found.add(value)
        return []
    if parent.name == "for":
        last = parent.regions[0].terminator.operands
        return [parent.operands[2 + value.index], last[value.index - 1]]
    test, body = parent.regions
    if owner is test:
        return [parent.operands[value.index], body.terminator.operands[value.index]]
    return [test.terminator.operands[1 + value.index]]


def _out_of(owner: Operation, index: int) -> list[Value]:
    if owner.name == "if":
        return [region.terminator.operands[index] for region in owner.regions]
    if owner.name == "while":
        return [owner.regions[0].terminator.operands[1 + index]]
    return [owner.operands[3 + index], owner.regions[0].terminator.operands[index]]


__all__ = ["READS", "STORES", "WRITES", "may_run_ahead", "orders", "pointer_of", "roots_of"]

"""What must hold of placed IR: that every block is held where its user looks for it.

A function is placed if any of its values has a layout. Then all blocks have one, made for the same
number of warps; operations that move nothing between lanes find each element where they put it;
rings are filled and read in one layout; and sums in flight go nowhere but to the next product and
to the wait that names them. Whether copies have arrived in time is for the grid machine to see.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from blockstep.ir import flight
from blockstep.ir.core import Function, Operation, Value
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.ir.malformed import Malformed
from blockstep.language.op import Family

_ONE_LAYOUT = frozenset({"hint", "load", "store", "atomic_rmw", "atomic_cas", "atomic_load",
                         "atomic_store"})  # fmt: skip
_ELEMENTWISE = frozenset({Family.ELEMENTWISE, Family.SELECT})
_MAKES_SHARED = frozenset({"convert", "slot"})
_COPIES = ("async_copy", "tensor_copy")
_COPIED = (4, 8, 16)  # bytes that one lane can copy at once


def verify_placed(function: Function) -> None:
    """Raises Malformed for the first rule that does not hold; unplaced IR breaks none."""
    operations = list(function.walk())
    values = [*((None, p) for p in function.parameters), *_values(operations)]
    if all(value.layout is None for _, value in values):
        return
    widths: dict[tuple[int, int], None] = {}
    for owner, value in values:
        _held(owner, value)
        if isinstance(value.layout, Layout):
            widths[value.layout.num_warps, value.layout.num_ctas] = None
            if len(widths) > 1:
                (first, _), (other, _) = widths
                raise Malformed(owner, f"a layout for {other} warps, others are for {first}")
    for operation in operations:
        _uses(operation)
        check = _CHECKS.get(operation.name)
        if check is not None:
            check(operation)
    _flights(operations)


def _values(operations: Sequence[Operation]) -> Iterator[tuple[Operation | None, Value]]:
    """Every value that an operation brings into the world."""
    for operation in operations:
        for result in operation.results:
            yield operation, result
        for region in operation.regions:
            for argument in region.arguments:
                yield operation, argument


def _held(owner: Operation | None, value: Value) -> None:
    layout, shape = value.layout, tuple(value.type.shape)
    if not shape:
        if layout is not None:
            raise Malformed(owner, f"a scalar has the layout {layout}")
        return
    if layout is None:
        raise Malformed(owner, f"a block {value.type} has no layout, and others have")
    if tuple(layout.shape) != shape:
        raise Malformed(owner, f"a block {value.type} has the layout {layout} of another shape")
    if isinstance(layout, SharedLayout):
        if owner is None or owner.name not in _MAKES_SHARED:
            raise Malformed(owner, f"puts a block into shared memory: {layout}")
    elif value.run < 1 or layout.per_lane % value.run:
        raise Malformed(owner, f"runs of {value.run} in {layout.per_lane} registers of a lane")


def _uses(operation: Operation) -> None:
    """Blocks in shared memory are factors; elementwise operations work register by register."""
    for index, value in enumerate(operation.operands):
        if isinstance(value.layout, SharedLayout) and (operation.name != "dot" or index > 1):
            raise Malformed(operation, f"operand {index} lies in shared memory")
    if operation.name in _ONE_LAYOUT or operation.op.family in _ELEMENTWISE:
        _agree(operation, [*operation.operands, *operation.results])


def _agree(operation: Operation, values: Sequence[Value]) -> None:
    found = list(dict.fromkeys(v.layout for v in values if v.type.shape))
    if len(found) > 1:
        raise Malformed(operation, f"its blocks are held in two ways: {found[0]} and {found[1]}")


# ---- memory


def _access(operation: Operation) -> None:
    _vectors(operation, operation.operands[0].layout)


def _stored(operation: Operation, ring: dict[str, Any]) -> None:
    layout = operation.attributes["layout"]
    if not isinstance(layout, SharedLayout) or tuple(layout.shape) != tuple(ring["shape"]):
        raise Malformed(operation, f"copies a block of shape {ring['shape']} to {layout}")


def _tensor_copy(operation: Operation) -> None:
    ring, told = _of_ring(operation), operation.attributes
    if told["element"] is not ring["element"] or tuple(told["shape"]) != tuple(ring["shape"]):
        raise Malformed(
            operation, f"copies {told['element']} {told['shape']} into a ring of others"
        )
    _stored(operation, ring)
    phases = operation.operands[1].producer
    if phases is None or phases.name != "phases" or phases.attributes["slots"] != ring["slots"]:
        raise Malformed(operation, f"names no `phases` of {ring['slots']} slots")

    _mapped(operation, operation.operands[4], operation.operands[5:], ring["shape"])


def _tensor_map(operation: Operation) -> None:
    rank = len(operation.attributes["shape"])
    if len(operation.operands) != 1 + 2 * rank:
        raise Malformed(operation, f"tells no {rank} lengths and {rank} strides")


def _tensor_store(operation: Operation) -> None:
    place, value, *offsets = operation.operands
    _mapped(operation, place, offsets, value.type.shape)


def _tensor_reduce(operation: Operation) -> None:
    _tensor_store(operation)
    _agree(operation, [operation.operands[1], *operation.results])
    if any(result.uses for result in operation.results):
        raise Malformed(operation, "nobody is told what was there before")


def _mapped(
    operation: Operation, place: Value, offsets: Sequence[Value], shape: Sequence[int]
) -> None:
    made = place.producer
    if made is None or made.name != "tensor_map":
        raise Malformed(operation, "names no `tensor_map`")
    there = tuple(made.attributes["shape"])
    if prod(there) != prod(shape) or len(offsets) != len(there):  # reshaped on the way, perhaps
        raise Malformed(operation, f"moves a block of shape {shape} by a map of blocks {there}")


def _phase_wait(operation: Operation) -> None:
    phases = operation.operands[0].producer
    if phases is None or phases.name != "phases":
        raise Malformed(operation, "names no `phases`")


def _vectors(operation: Operation, layout: Any) -> None:
    width = operation.attributes.get("vector", 1)
    if width != 1 and not _is_vector(layout, width):
        raise Malformed(operation, f"no vectors of {width} neighbours in {layout}")


def _is_vector(layout: Any, width: int) -> bool:
    """Whether a lane's registers hold whole groups of neighbours along an axis."""
    if not isinstance(layout, Layout) or width & (width - 1):
        return False
    bits, low = width.bit_length() - 1, 1
    for length in reversed(layout.shape):
        wanted = tuple(low << bit for bit in range(bits))
        mask = low * (width - 1)
        rest = layout.bases[bits:]
        if layout.registers[:bits] == wanted and width <= length:
            if not any(basis & mask for basis in rest):
                return True
        low *= length
    return False


def _orders(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(len(shape)))


def _ring(operation: Operation) -> None:
    told = operation.attributes
    if told["slots"] < 1:
        raise Malformed(operation, f"{told['slots']} slots")
    copied, read = set(), set()
    for user, index in operation.results[0].uses:
        if user.name not in (*_COPIES, "slot") or index:
            raise Malformed(user, "a ring is for copies and `slot` alone")
        if user.name == "slot":
            read.add(_only(user).layout)
        else:
            copied.add(user.attributes["layout"])
    whole = {layout for layout in read if sorted(layout.shape) == sorted(told["shape"])}
    filled = [layout for layout in copied if isinstance(layout, SharedLayout)]
    ways = {layout.permuted(dims) for layout in filled for dims in _orders(layout.shape)}
    if len(copied) > 1 or copied and whole - ways:
        one, other = sorted(map(str, copied | whole))[:2]
        raise Malformed(operation, f"its slots are filled and read in two ways: {one} and {other}")


def _only(operation: Operation) -> Value:
    (result,) = operation.results
    return result


def _of_ring(operation: Operation) -> dict[str, Any]:
    """The attributes of the ring that an operation names."""
    made = operation.operands[0].producer
    if made is None or made.name != "ring":
        raise Malformed(operation, "names no ring")
    return made.attributes


def _slot(operation: Operation) -> None:
    ring, result = _of_ring(operation), _only(operation)
    wanted = sorted(ring["shape"]), ring["element"]  # axes may come out permuted
    if (sorted(result.type.shape), result.type.scalar) != wanted:
        raise Malformed(operation, f"reads {result.type} out of a ring of {wanted[1]} {wanted[0]}")
    if not isinstance(result.layout, SharedLayout):
        raise Malformed(operation, f"a slot lies in shared memory, not in {result.layout}")


def _async_copy(operation: Operation) -> None:
    ring, pointer, told = _of_ring(operation), operation.operands[3], operation.attributes
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    if tuple(pointer.type.shape) != tuple(ring["shape"]) or element is not ring["element"]:
        raise Malformed(operation, f"copies {pointer.type} into a ring of {ring['element']}")
    _agree(operation, operation.operands[3:])
    _stored(operation, ring)
    if told["vector"] * element.itemsize not in _COPIED:
        raise Malformed(operation, f"no lane copies {told['vector']} elements of {element} at once")
    _vectors(operation, pointer.layout)


def _waits(operation: Operation) -> None:
    if operation.attributes["pending"] < 0:
        raise Malformed(operation, f"waits for {operation.attributes['pending']} to be left")


def _dot_wait(operation: Operation) -> None:
    _waits(operation)
    for value, result in zip(operation.operands, operation.results, strict=True):
        _agree(operation, [value, result])


# ---- operations that move nothing between lanes


def _same_bases(operation: Operation) -> None:
    """The flat index of an element stays what it is."""
    x, result = operation.operands[0], _only(operation)
    if x.type.shape and result.type.shape:
        _match(operation, _map(x.layout, lambda basis: basis), result.layout)


def _permute(operation: Operation) -> None:
    x, dims = operation.operands[0].layout, operation.attributes["dims"]

    def moved(basis: int) -> int:
        at = _coordinates(basis, x.shape)
        return _flat([at[d] for d in dims], [x.shape[d] for d in dims])

    _match(operation, _map(x, moved), _only(operation).layout)


def _broadcast(operation: Operation) -> None:
    x, wide = operation.operands[0].layout, _only(operation).layout

    def narrowed(basis: int) -> int:
        at = _coordinates(basis, wide.shape)
        return _flat([c if n > 1 else 0 for c, n in zip(at, x.shape, strict=True)], x.shape)

    registers, *others = _map(wide, narrowed)
    have = {x.element(register, 0, 0) for register in range(x.per_lane)}
    if others != _map(x, lambda basis: basis)[1:] or not have.issuperset(registers):
        raise Malformed(operation, f"elements of {wide} are not where {x} has them")


Bases = list[tuple[int, ...]]


def _map(layout: Layout, change: Callable[[int], int]) -> Bases:
    """Each kind of basis, changed: registers, lanes, warps, CTAs."""
    kinds = (layout.registers, layout.lanes, layout.warps, layout.ctas)
    return [tuple(change(basis) for basis in kind) for kind in kinds]


def _match(operation: Operation, wanted: Bases, layout: Layout) -> None:
    if _map(layout, lambda basis: basis) != wanted:
        raise Malformed(operation, f"its elements are not where {layout} says")


def _coordinates(flat: int, shape: Sequence[int]) -> list[int]:
    found = []
    for length in reversed(shape):
        flat, at = divmod(flat, length)
        found.append(at)
    return found[::-1]


def _flat(at: Sequence[int], shape: Sequence[int]) -> int:
    found = 0
    for coordinate, length in zip(at, shape, strict=True):
        found = found * length + coordinate
    return found


# ---- products and control flow


def _dot(operation: Operation) -> None:
    a, b, *acc = operation.operands
    result = _only(operation)
    _agree(operation, [*acc, result])
    if isinstance(a.layout, SharedLayout) and not isinstance(b.layout, SharedLayout):
        raise Malformed(operation, "the first factor lies in shared memory, the second does not")
    if isinstance(a.layout, Layout) and isinstance(b.layout, SharedLayout):
        _rows(operation, a.layout, result.layout)
    if flight.in_flight(operation):
        if not isinstance(b.layout, SharedLayout):
            raise Malformed(operation, "in flight with a factor in registers that may be reused")
        if flight.partial(operation):
            raise Malformed(operation, "in flight, but its sums are still to be added up")
        if result.type.scalar is not flight.sums(operation):
            raise Malformed(operation, f"in flight, but its sums are still to become {result.type}")


def _rows(operation: Operation, factor: Layout, sums: Layout) -> None:
    """Each warp has the rows of the factor that it sums."""
    mine = [basis // factor.shape[-1] for basis in factor.warps]
    wanted = [basis // sums.shape[-1] for basis in sums.warps]
    if mine != wanted:
        raise Malformed(operation, f"warps hold other rows of {factor} than of {sums}")


def _for(operation: Operation) -> None:
    (body,) = operation.regions
    last = body.terminator.operands
    for several in zip(
        operation.operands[3:], body.arguments[1:], last, operation.results, strict=True
    ):
        _agree(operation, several)


def _while(operation: Operation) -> None:
    test, body = operation.regions
    passed = test.terminator.operands[1:]
    for several in zip(operation.operands, test.arguments, body.terminator.operands, strict=True):
        _agree(operation, several)
    for several in zip(passed, body.arguments, operation.results, strict=True):
        _agree(operation, several)


def _if(operation: Operation) -> None:
    yielded = [region.terminator.operands for region in operation.regions]
    for several in zip(*yielded, operation.results, strict=True):
        _agree(operation, several)


def _convert(operation: Operation) -> None:
    (x,) = operation.operands
    if not x.type.shape:
        raise Malformed(operation, "a scalar is held in one way alone")


def _flights(operations: Sequence[Operation]) -> None:
    """Sums in flight are waited for, or added to by the next product in flight."""
    for user, index in flight.users(o for o in operations if flight.in_flight(o)):
        added_to = flight.in_flight(user) and index == 2
        if user.name != "dot_wait" and not added_to and not flight.handed_on(user, index):
            raise Malformed(user, f"operand {index} is sums that are still in flight")


_CHECKS: dict[str, Callable[[Operation], None]] = {
    "async_copy": _async_copy,
    "async_wait": _waits,
    "broadcast": _broadcast,
    "convert": _convert,
    "dot": _dot,
    "dot_wait": _dot_wait,
    "expand_dims": _same_bases,
    "for": _for,
    "if": _if,
    "load": _access,
    "permute": _permute,
    "phase_wait": _phase_wait,
    "phases_end": _phase_wait,
    "reshape": _same_bases,
    "ring": _ring,
    "slot": _slot,
    "store": _access,
    "tensor_copy": _tensor_copy,
    "tensor_map": _tensor_map,
    "tensor_reduce": _tensor_reduce,
    "tensor_store": _tensor_store,
    "while": _while,
}

"""What a slice does at memory: a load goes on at whoever wrote the element, a store or an atomic at the
lanes that it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.blame.drafts import Draft
from blockstep.interp.blame.log import Captured
from blockstep.interp.blame.parts import MOST, parts_of
from blockstep.interp.blame.ranking import largest
from blockstep.interp.blame.tape import Made, Node, element_of
from blockstep.interp.memory import Storage, View
from blockstep.language.op import Family

if TYPE_CHECKING:
    from blockstep.interp.blame.slice import Slice

Index = tuple[int, ...]


def opened_load(slicing: Slice, draft: Draft, node: Node, index: Index) -> None:
    """What a load read, or an atomic found, at one lane."""
    node.need()
    pointers, mask, other = _operands(node)
    pointer = _value(pointers)
    if mask is not None and not element_of(_value(mask), index):
        if other is not None:
            draft.note = "masked"
            draft.operands.append((slicing.value(other, index, node.tape), "value"))
        else:
            draft.note = "undefined"
        draft.operands.append((slicing.value(mask, index, node.tape), "condition"))
        return
    address, view = int(element_of(pointer, index)), _view(pointer)
    storage = slicing.space.find(address)
    captured = next((c for c in node.captured if _lane(c.lanes, index)), None)
    if captured is None or storage is None:
        draft.note = "skipped"
        return
    draft.place = slicing.place(storage, address, view)
    event, result = int(np.asarray(captured.before)[index]), node.result(0)
    earlier = _earlier(captured, pointer, address, index)
    if event or earlier:
        found = slicing.memory(
            storage, address, captured.event if earlier else event, element_of(result, index),
            result.type, view, index if earlier else None,
        )  # fmt: skip
        draft.operands.append((found, "memory"))
    else:
        draft.note = "host"
    for offset, at in _offsets(pointers, index):
        draft.operands.append((slicing.value(offset, at, node.tape), "index"))


def _earlier(captured: Captured, pointer: Any, address: int, index: Index) -> bool:
    """Whether lanes of the same atomic changed an element before one of them had its turn."""
    if not captured.event or not index:
        return False
    on = captured.lanes if captured.changed is None else captured.changed
    hits = np.asarray(pointer.handle) == address
    hits = np.ravel(hits if on is None else hits & on)
    return bool(hits[: int(np.ravel_multi_index(index, pointer.type.shape))].any())


def _operands(node: Node) -> tuple[Any, Any, Any]:
    """Pointers, mask and fill value."""
    given = node.operands
    if node.op.name == "load":
        return given
    mask = {"atomic_rmw": 2, "atomic_load": 1, "atomic_store": 2}.get(node.op.name)
    return given[0], None if mask is None else given[mask], None


def _value(x: Any) -> Any:
    return x.node.result(x.index) if type(x) is Made else x


def _view(pointer: Any) -> View | None:
    return pointer.origin if isinstance(pointer.origin, View) else None


def _lane(lanes: Any, index: Index) -> bool:
    return lanes is None or bool(np.asarray(lanes)[index])


def _offsets(pointer: Any, index: Index) -> list[tuple[Any, Index]]:
    """Integers that memory had a part in and that a pointer was moved by, at one lane."""
    found: list[tuple[Any, Index]] = []
    while type(pointer) is Made and pointer.node.loads:
        node = pointer.node
        if node.op.name == "load":
            break
        operands = [_value(x) for x in node.operands]
        assert node.results is not None
        parts = parts_of(node.op, operands, node.attributes, node.results, pointer.index, index)
        onward = None
        for part in parts.parts:
            operand = node.operands[part.operand]
            if operands[part.operand].type.scalar.is_ptr():
                onward = operand, part.at
            elif type(operand) is Made and operand.node.loads:
                if node.op.family is not Family.ELEMENTWISE or node.op.name == "addptr":
                    found.append((operand, part.at))
        if onward is None:
            break
        pointer, index = onward
    return found


def opened_event(
    slicing: Slice, draft: Draft, event: int, storage: Storage, address: int, size: int,
    before: Index | None,
) -> None:  # fmt: skip
    """What a store or an atomic left in an element (of an atomic, `before` one of its lanes)."""
    node = slicing.node_of(event)
    if node is None:
        program = slicing.log.program(event)
        draft.note = "more"
        if program not in slicing.wanted:
            slicing.wanted.append(program)
        return
    node.need()
    pointer = _value(node.operands[0])
    addresses = np.asarray(pointer.handle)
    width = pointer.type.scalar.element_ty.itemsize
    captured = next(c for c in node.captured if c.event == event)
    hits = (addresses < address + size) & (addresses + width > address)
    on = captured.lanes if captured.changed is None else captured.changed
    lanes = [tuple(map(int, lane)) for lane in np.argwhere(hits if on is None else hits & on)]
    if before is not None:
        lanes = [lane for lane in lanes if lane < before]  # in the order of the block
    draft.element = lanes[-1]
    same = size == width
    if node.op.name in ("store", "atomic_store"):
        _stored(slicing, draft, node, 1, lanes[-1], same)
    elif node.op.name == "atomic_cas":
        _stored(slicing, draft, node, 2, lanes[-1], same)
        expected = slicing.value(node.operands[1], lanes[-1], node.tape)
        draft.operands.append((expected, "condition"))
    else:
        last = None if before is None else element_of(node.result(0), before)
        _updated(slicing, draft, node, captured, lanes, (storage, address), same, last)


def _stored(
    slicing: Slice, draft: Draft, node: Node, operand: int, lane: Index, same: bool
) -> None:
    """One lane's value took the place of what was there."""
    x = node.operands[operand]
    if _value(x).type.scalar.is_ptr():
        return
    found = slicing.value(x, lane, node.tape)
    draft.operands.append((found, "stored"))
    if same:
        draft.value, draft.type_text = found.value, found.type_text


def _updated(
    slicing: Slice, draft: Draft, node: Node, captured: Captured, lanes: list[Index], at: Any,
    same: bool, last: Any,
) -> None:  # fmt: skip
    """Lanes of an atomic changed an element, one after the other. `last` is what they left; None:
    what the whole atomic left."""
    storage, address = at
    combine, x, result = node.attributes["combine"], node.operands[1], node.result(0)
    new = _after(captured, np.shape(result.handle), lanes[-1]) if last is None else last
    if same:
        draft.value = new
    if combine == "xchg":
        draft.operands.append((slicing.value(x, lanes[-1], node.tape), "stored"))
        return
    values = np.asarray([element_of(_value(x), lane) for lane in lanes])
    old = element_of(result, lanes[0])
    before = slicing.memory(
        storage, address, int(np.asarray(captured.before)[lanes[0]]), old, result.type,
        _view(_value(node.operands[0])),
    )  # fmt: skip
    if combine in ("max", "min"):
        equal = np.flatnonzero(_bits(values) == _bits(new))
        kept = _bits(np.asarray(old)) == _bits(new)
        picked = [] if kept or not equal.size else [int(equal[0])]
        if picked:
            draft.operands.append((slicing.value(x, lanes[picked[0]], node.tape), "stored"))
        else:
            draft.operands.append((before, "old"))
    else:
        picked = largest(values, new, MOST)
        for number in picked:
            draft.operands.append((slicing.value(x, lanes[number], node.tape), "stored"))
        draft.operands.append((before, "old"))
    if len(lanes) > 1:
        draft.took, draft.left_out = len(lanes), len(lanes) - len(picked)


def _bits(x: Any) -> Any:
    array = np.asarray(x)
    return array.view(f"u{array.dtype.itemsize}")


def _after(captured: Captured, shape: Any, lane: Index) -> Any:
    """What an element holds after an atomic, of which one lane is given."""
    if not shape:
        return np.ravel(captured.new)[0]
    flat = int(np.ravel_multi_index(lane, shape))
    if captured.lanes is not None:
        flat = int(np.count_nonzero(np.ravel(captured.lanes)[:flat]))
    return np.ravel(captured.new)[flat]


__all__ = ["opened_event", "opened_load"]

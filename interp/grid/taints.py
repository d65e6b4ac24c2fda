"""Marks on values of many program instances: undefined, unread, wrapped, divided by zero, …

The same marks as the step machine's (`interp.marks`), moved by the same rules and born of the same
arithmetic, on arrays that lead with the axes of program instances. What a masked load leaves
undefined is named by its mask as long as that says which elements exactly (`Lanes.undefined`);
only where elements meet or move are the marked ones written out (`Lanes.marks`).

Invariant: a mark that reaches memory, an address, a mask, a branch, a loop's bound or an assertion
in a lane that is on is a `Suspicion`, and the step machine would report it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp import marks
from blockstep.interp.accesses import STORED
from blockstep.interp.arithmetic import LIMITS, does_not_hold, exact_sum, leaves
from blockstep.interp.grid.lanes import LEAD, NONE, Lanes
from blockstep.interp.grid.memory import Suspicion
from blockstep.ir import Operation
from blockstep.language.op import Family
from blockstep.language.types import dtype

_BESIDE = frozenset({Family.ELEMENTWISE, Family.SELECT})  # lanes stay where they are


def follow(
    operation: Operation, operands: tuple[Lanes, ...], results: list[Lanes], wanted: frozenset[str]
) -> None:
    """Gives results the marks that operands carry into them, and those of the wanted ones that are
    born in the operation."""
    if any(questionable(x) for x in operands):
        carry(operation, operands, results)
    for result in results:
        for name, find in _births(operation, result):
            if name in wanted:
                lanes = find(operation, operands, result.type.scalar)
                if np.any(lanes):
                    add(result, name, lanes)
        if operation.name == "and" and result.type.scalar.is_int1():
            result.implies = NONE.union(*[_implied(x) for x in operands])


def questionable(x: Lanes) -> bool:
    """Whether any element is marked."""
    return bool(x.undefined or x.marks)


def carry(operation: Operation, operands: tuple[Lanes, ...], results: list[Lanes]) -> None:
    """Gives results the marks that operands carry into them."""
    names = {name for x in operands for name in x.marks}
    undefined: frozenset[Any] | None = NONE
    if any(x.undefined for x in operands):
        undefined = None if "poison" in names else _by_masks(operation, operands, results[0])
        if undefined is None:
            names.add("poison")
    if names:
        _spread(operation, operands, results, names)
    if undefined:
        for result in results:
            result.undefined = undefined


def add(x: Lanes, name: str, lanes: Any) -> None:
    """Marks elements of a value, in addition to those that are marked already."""
    old = x.marks.get(name)
    x.marks = {**x.marks, name: lanes if old is None else old | lanes}


def lanes_of(x: Lanes, name: str) -> Any:
    """The elements with a mark, written out; None for none."""
    out = x.marks.get(name)
    if name == "poison":
        for mask in x.undefined:
            off = ~mask.data()
            out = off if out is None else out | off
    return out


def marked(x: Lanes) -> dict[str, Any]:
    """Every mark of a value, written out."""
    if not x.undefined:
        return x.marks
    return {**x.marks, "poison": lanes_of(x, "poison")}


def decides(x: Lanes, active: Any = None, only: frozenset[str] | None = None) -> bool:
    """Whether a mark shows in a lane that is on (`active` None: in any)."""
    for name, lanes in marked(x).items():
        if (only is None or name in only) and np.any(lanes if active is None else lanes & active):
            return True
    return False


def stored(value: Lanes, mask: Lanes | None) -> None:
    """A value about to reach memory. Raises Suspicion unless it is defined wherever it is stored."""
    if not value.marks and mask is not None and value.undefined <= mask.implies | {mask}:
        return
    if decides(value, None if mask is None else mask.data(), STORED):
        raise Suspicion


# How marks move.


def _by_masks(
    operation: Operation, operands: tuple[Lanes, ...], result: Lanes
) -> frozenset[Any] | None:
    """The masks outside of which the result is undefined; None where that is not exact."""
    undefined = NONE.union(*[x.undefined for x in operands])
    name, family = operation.name, operation.op.family
    if name == "and" and result.type.scalar.is_int1():
        # m & undefined(m) is defined: false where m is off
        left = undefined - NONE.union(*[_implied(x) for x in operands])
        return None if left else left
    if name == "select":
        condition, x, y = operands
        left = condition.undefined | (x.undefined - _implied(condition)) | y.undefined
        return None if left else left
    if family is Family.ELEMENTWISE:
        return None if _absorbs(name, operands, result) else undefined
    if name == "bitcast" and operands[0].type.shape == result.type.shape:
        return undefined
    return None


def _implied(mask: Lanes) -> frozenset[Any]:
    return mask.implies | {mask}


def _absorbs(name: str, operands: tuple[Lanes, ...], result: Lanes) -> bool:
    """Whether an element of one operand may decide the result, whatever the other one is."""
    if name not in ("and", "or", "mul") or not result.type.scalar._integer:
        return False
    if name != "mul":
        return True
    x, y = operands
    low, high = (y if x.undefined else x).extent()
    return bool(x.undefined and y.undefined) or low <= 0 <= high


@dataclass(slots=True, eq=False)
class _Shown:
    """A value as the rules for marks see it."""

    type: dtype
    handle: Any


def _spread(
    operation: Operation, operands: tuple[Lanes, ...], results: list[Lanes], names: set[str]
) -> None:
    beside = operation.op.family in _BESIDE
    arrays = [x.data() if beside else x.full() for x in operands]
    lead = np.broadcast_shapes(*[a.shape[:LEAD] for a in arrays])
    for name in names:
        lanes = [lanes_of(x, name) for x in operands]
        wide = np.broadcast_shapes(lead, *[m.shape[:LEAD] for m in lanes if m is not None])
        if not beside:
            lanes = [
                None if m is None else np.broadcast_to(m, wide + x.type.shape)
                for x, m in zip(operands, lanes, strict=True)
            ]
        shown = [
            _Shown(x.type, a if beside else np.broadcast_to(a, wide + x.type.shape))
            for x, a in zip(operands, arrays, strict=True)
        ]
        moved = marks.moved(name, operation.op, shown, operation.attributes, lanes, results)
        for result, found in zip(results, moved, strict=True):
            if found is not None and np.any(found):
                add(result, name, found)


# Where marks are born: on which elements of the result, all or none of them if it is not an array.


def _births(operation: Operation, result: Lanes) -> tuple[tuple[str, _Find], ...]:
    """Names of marks, and how to find the elements."""
    if not result.type.scalar._integer:
        return ()
    if operation.op.family in (Family.REDUCE, Family.SCAN):
        return _SUMS
    return _BORN.get(operation.name, ())


def _wrapped(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    if kind.primitive_bitwidth == 1:
        return False
    x, y = operands
    low, high = LIMITS[operation.name](x.extent(), y.extent())
    if kind.lowest <= low and high <= kind.highest:
        return False
    return leaves(operation.name, x.data(), y.data(), kind)


def _lowest(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    return kind.is_int_signed() and operands[0].data() == kind.lowest


def _too_far(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    _, count = operands
    low, high = count.extent()
    width = kind.primitive_bitwidth
    if 0 <= low and high < width:
        return False
    return (count.data() < 0) | (count.data() >= width)


def _by_zero(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    _, divisor = operands
    low, high = divisor.extent()
    return False if low > 0 or high < 0 else divisor.data() == 0


def _lost(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    (x,) = operands
    source = x.type.scalar
    if kind.primitive_bitwidth == 1:
        return False
    if source._integer:
        low, high = x.extent()
        if kind.lowest <= low and high <= kind.highest:
            return False
        if kind.primitive_bitwidth >= source.primitive_bitwidth:
            return False
    return does_not_hold(x.data(), source, kind)


def _compares_nan(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    """NaN on one side and an ordinary number on the other."""
    if not operands[0].type.scalar.is_floating():
        return False
    x, y = (operand.data() for operand in operands)
    return (np.isnan(x) & np.isfinite(y)) | (np.isnan(y) & np.isfinite(x))


def _sum_wraps(operation: Operation, operands: tuple[Lanes, ...], kind: dtype) -> Any:
    """Where an integer sum, or a running one, leaves the type."""
    attributes, x = operation.attributes, operands[0]
    single = attributes["region"].single
    if single is None or single.op.name != "add" or len(operands) > 1:
        return False
    if not x.type.scalar._integer or kind.primitive_bitwidth == 1:
        return False
    (low, high), n = x.extent(), x.type.shape[attributes["axis"]]
    if kind.lowest <= min(low, low * n) and max(high, high * n) <= kind.highest:
        return False
    running, reverse = operation.op.family is Family.SCAN, attributes.get("reverse", False)
    exact = exact_sum(x.full(), attributes["axis"], running, reverse)
    return np.asarray((exact < kind.lowest) | (exact > kind.highest), bool)


_Find = Callable[[Operation, tuple[Lanes, ...], dtype], Any]
_SUMS: tuple[tuple[str, _Find], ...] = (("wrap", _sum_wraps),)
_BORN: dict[str, tuple[tuple[str, _Find], ...]] = {
    **dict.fromkeys(("add", "sub", "mul"), (("wrap", _wrapped),)),
    "shl": (("wrap", _wrapped), ("shift", _too_far)),
    **dict.fromkeys(("lshr", "ashr"), (("shift", _too_far),)),
    "iabs": (("wrap", _lowest),),
    **dict.fromkeys(("idiv", "irem"), (("division", _by_zero),)),
    "cast": (("cast", _lost),),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), (("nan", _compares_nan),)),
}

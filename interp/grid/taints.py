"""Suspicion that travels with values: undefined under a mask, wrapped, divided by zero, …

Coarser than the step machine's marks (a whole value, not its elements) and never less suspicious:
`follow` adds what an operation may bring into the world and keeps what its operands carry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.grid.lanes import NONE, Lanes
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.marks import KILLS
from blockstep.ir import Operation
from blockstep.language.op import Family

_MOVES = frozenset({Family.ELEMENTWISE, Family.SHAPE, Family.SELECT, Family.SOURCE, Family.MIX})
_STORED = frozenset({"division", "shift", "cast"})  # a wrapped value may be stored


def follow(
    operation: Operation, operands: tuple[Any, ...], result: Lanes, wanted: frozenset[str]
) -> None:
    """Sets what `result` may suffer from, of the marks that are wanted."""
    given = [x for x in operands if isinstance(x, Lanes)]
    undefined = NONE.union(*[x.undefined for x in given]) if given else NONE
    carried = NONE.union(*[x.taints for x in given]) if given else NONE
    if undefined:
        result.undefined = _defined(operation, given, undefined)
    if carried:
        result.taints = _kept(operation, given, carried, result)
    if "wrap" in wanted and operation.op.family in (Family.REDUCE, Family.SCAN):
        _accumulated(operation, given, result)
    marks, born = _BORN.get(operation.name, (NONE, None))
    if born is not None and not wanted.isdisjoint(marks):
        taint = born(given, result)
        if taint in wanted:
            result.taints = result.taints | {taint}
    if operation.name == "and" and result.type.scalar.is_int1():
        result.implies = NONE.union(*[x.implies | {x} for x in given])


def _defined(operation: Operation, given: list[Lanes], undefined: frozenset[Any]) -> frozenset[Any]:
    if operation.op.family not in _MOVES:
        raise Suspicion  # a reduction of undefined elements: elementwise bookkeeping is not enough
    if operation.op.family is Family.SHAPE and operation.name not in ("bitcast",):
        raise Suspicion  # elements move away from the mask
    if operation.name == "and":  # m & undefined(m) is defined: false where m is off
        implied = NONE.union(*[x.implies | {x} for x in given])
        return undefined - implied
    if operation.name == "select":
        condition, x, y = given
        implied = condition.implies | {condition}
        return condition.undefined | (x.undefined - implied) | y.undefined
    return undefined


def _kept(
    operation: Operation, given: list[Lanes], carried: frozenset[str], result: Lanes
) -> frozenset[str]:
    out = set(carried)
    if "wrap" in out:
        unsigned = operation.name == "irem" and result.type.scalar.is_int_unsigned()
        if operation.name in KILLS["wrap"] or result.type.scalar.is_floating() or unsigned:
            out.discard("wrap")
    if "nan" in out:
        chosen = given[1:] if operation.name == "select" else given
        if result.type.scalar.is_floating() or not any("nan" in x.taints for x in chosen):
            out.discard("nan")
    return frozenset(out)


_COMPARES = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def compares_nan(operation: Operation, operands: tuple[Lanes, ...]) -> bool:
    """Whether a comparison has NaN on one side and an ordinary number on the other."""
    if operation.name not in _COMPARES or not operands[0].type.scalar.is_floating():
        return False
    x, y = (operand.data() for operand in operands)
    return bool((np.isnan(x) & np.isfinite(y)).any() or (np.isnan(y) & np.isfinite(x)).any())


def _wraps(given: list[Lanes], result: Lanes, name: str) -> str | None:
    kind = result.type.scalar
    if not kind._integer or kind.primitive_bitwidth == 1:
        return None
    if name == "iabs":
        return "wrap" if given[0].extent()[0] == kind.lowest and kind.is_int_signed() else None
    (a, b), (c, d) = given[0].extent(), given[1].extent()
    if name == "add":
        low, high = a + c, b + d
    elif name == "sub":
        low, high = a - d, b - c
    elif name == "mul":
        corners = (a * c, a * d, b * c, b * d)
        low, high = min(corners), max(corners)
    elif c < 0 or d >= kind.primitive_bitwidth:
        return "shift"
    else:
        low, high = min(a << c, a << d), max(b << c, b << d)
    if kind.lowest <= low and high <= kind.highest:
        return None
    return "wrap" if _really(given, result, name) else None


def _really(given: list[Lanes], result: Lanes, name: str) -> bool:
    """Whether an element leaves the type: decided in 64 bits for narrower ones."""
    kind = result.type.scalar
    if kind.primitive_bitwidth == 64:
        return True
    x, y = (g.data().astype(np.int64) for g in given)
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "shl": np.left_shift}[name](
        x, y
    )
    return bool(((exact < kind.lowest) | (exact > kind.highest)).any())


def _accumulated(operation: Operation, given: list[Lanes], result: Lanes) -> None:
    """Integer sums and products of many elements: clean if no partial one can leave the type."""
    kind = result.type.scalar
    region = operation.attributes.get("region")
    if region is None or not kind._integer or kind.primitive_bitwidth == 1:
        return
    if not any(step.op.wraps for step in region.operations):
        return
    low, high = given[0].extent()
    count = given[0].type.shape[operation.attributes["axis"]]
    if {step.op.name for step in region.operations if step.op.wraps} != {"add"}:
        raise Suspicion
    if min(low, 0) * count < kind.lowest or max(high, 0) * count > kind.highest:
        raise Suspicion


def _named(name: str) -> Any:
    return lambda given, result: _wraps(given, result, name)


def _divides(given: list[Lanes], result: Lanes) -> str | None:
    if not result.type.scalar._integer:
        return None
    low, high = given[1].extent()
    if low > 0 or high < 0:
        return None
    return "division" if (given[1].data() == 0).any() else None


def _shifts(given: list[Lanes], result: Lanes) -> str | None:
    low, high = given[1].extent()
    return None if 0 <= low and high < result.type.scalar.primitive_bitwidth else "shift"


def _casts(given: list[Lanes], result: Lanes) -> str | None:
    source, target = given[0].type.scalar, result.type.scalar
    if not target._integer or target.primitive_bitwidth == 1:
        return None
    if source._integer:
        if target.primitive_bitwidth >= source.primitive_bitwidth:
            return None
        low, high = given[0].extent()
        return None if target.lowest <= low and high <= target.highest else "cast"
    value = given[0].data().astype(np.float64)
    inside = (value > target.lowest - 1.0) & (value < target.highest + 1.0)
    return None if inside.all() else "cast"


_WRAPS, _DIVIDES = frozenset({"wrap"}), frozenset({"division"})
_BORN: dict[str, tuple[frozenset[str], Any]] = {  # the marks that may come of an operation
    "add": (_WRAPS, _named("add")),
    "sub": (_WRAPS, _named("sub")),
    "mul": (_WRAPS, _named("mul")),
    "shl": (frozenset({"wrap", "shift"}), _named("shl")),
    "iabs": (_WRAPS, _named("iabs")),
    "lshr": (frozenset({"shift"}), _shifts),
    "ashr": (frozenset({"shift"}), _shifts),
    "idiv": (_DIVIDES, _divides),
    "irem": (_DIVIDES, _divides),
    "cast": (frozenset({"cast"}), _casts),
}


def stored(value: Lanes, mask: Lanes | None) -> None:
    """A value about to reach memory. Raises Suspicion unless it is defined wherever it is stored."""
    if value.taints & _STORED:
        raise Suspicion
    if not value.undefined:
        return
    if mask is None:
        raise Suspicion
    implied = mask.implies | {mask}
    for needed in value.undefined - implied:
        if (mask.data() & ~needed.data()).any():
            raise Suspicion

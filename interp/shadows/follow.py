"""Shadows on the step machine: a checker that follows values, with the same rules and the same records.

Invariant: the values are the step machine's. A launch has the same records on both machines, but for
the order in which elements were met.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from blockstep.findings import Program
from blockstep.interp.bounds.ranges import widened
from blockstep.interp.events import Checker, Launched
from blockstep.interp.memory import Storage, View
from blockstep.interp.shadows.memory import ShadowMemory
from blockstep.interp.shadows.rules import COMPARISONS, real, rounds_inputs
from blockstep.interp.shadows.tally import Made, Place, Tally
from blockstep.language.frames import callers_of, user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor

_MOVES = frozenset({Family.SHAPE, Family.GATHER})


class Shadows(Checker):
    """Follows every float value in float64."""

    name: ClassVar[str] = "precision"

    def __init__(self) -> None:
        self.tally, self.memory = Tally(), ShadowMemory()

    def launch(self, launch: Launched) -> None:
        """A launch begins, and nothing has a shadow."""
        super().launch(launch)
        self.tally, self.memory = Tally(), ShadowMemory()

    def value(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> Any:
        """An operation was evaluated: its shadow is kept with it."""
        results = result if isinstance(result, tuple) else (result,)
        if op.family is Family.MEMORY:
            self._access(op, operands, attributes, result)
        elif any(_is_float(x) for x in (*operands, *results)):
            self._follow(program, op, operands, attributes, results)
        return result

    def _follow(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], results: Any
    ) -> None:
        given = [x for x in operands if type(x) is tensor]
        if not given or any(r is x for r in results for x in given):
            return
        shadowed = any(shadow_of(x) is not None for x in given)
        if not shadowed and (op.family in _MOVES or op.name in COMPARISONS):
            return
        values = [_real(x) for x in given]
        reals = [
            v if shadow_of(x) is None else shadow_of(x) for x, v in zip(given, values, strict=True)
        ]
        told = {k: v for k, v in attributes.items() if k != "operand_slots"}
        found = real(op, told, reals)
        if found is None:
            return
        local = real(op, told, values) if shadowed and op.family not in _MOVES else found
        several = isinstance(found, tuple)
        for k, made in enumerate(results):
            self._take(
                program, op, attributes, given, made, found[k] if several else found,
                local[k] if several else local, (values, reals),
            )  # fmt: skip

    def _take(
        self, program: Program, op: Op, attributes: Any, given: list[tensor], result: tensor,
        shadow: Any, local: Any, arrays: tuple[list[Any], list[Any]],
    ) -> None:  # fmt: skip
        value = _real(result)
        shape = result.type.shape
        made = Made(
            result.type.scalar, value, shadow, local, _defined([result, *given], shape),
            arrays[0], arrays[1], lambda flat: program, shape,
        )  # fmt: skip
        if not _is_float(result):
            if op.name in COMPARISONS:
                self.tally.decide(op, _place(), made)
            return
        if op.family not in _MOVES and op.name not in ("select", "hint"):
            note = rounds_inputs(op, attributes, [x.type.scalar for x in given])
            self.tally.add(op, _place(), made, note)
        same = shadow is local and op.family not in _MOVES
        if not (same and np.array_equal(value, shadow, equal_nan=True)):
            result.shadow = np.broadcast_to(shadow, shape)

    def _access(self, op: Op, operands: Any, attributes: dict[str, Any], result: Any) -> None:
        pointer, *rest = operands
        kind = pointer.type.scalar.element_ty
        view = pointer.origin
        if not kind.is_floating() or not isinstance(view, View) or view.storage is None:
            return
        mask = rest[0] if op.name in ("load", "atomic_load") else rest[-1]
        shape = pointer.type.shape
        index = (np.asarray(pointer.handle) - view.storage.base) // kind.itemsize
        on = None if mask is None else np.broadcast_to(np.asarray(mask.handle), shape)
        if op.name in ("load", "atomic_load"):
            self._load(view.storage, index, kind, on, result)
            return
        active = ... if on is None else on
        whole = shadow_of(rest[0])
        values = _real(rest[0]) if whole is None else whole
        flat = np.broadcast_to(np.asarray(values, np.float64), shape)[active]
        index = np.broadcast_to(index, shape)[active]
        if op.name == "atomic_rmw":
            old = np.broadcast_to(_real(result), shape)[active]
            how = attributes["combine"]
            self.memory.combine(view.storage, index, kind.itemsize, flat, how, old)
        else:
            kept = flat if op.name in ("store", "atomic_store") else None
            self.memory.write(view.storage, index, kind.itemsize, kept)

    def _load(self, storage: Storage, index: Any, kind: Any, on: Any, result: tensor) -> None:
        values = _real(result)
        found = self.memory.read(storage, index, kind.itemsize, values)
        if found is not None:
            result.shadow = found if on is None else np.where(on, found, values)


def shadow_of(x: Any) -> Any:
    """The facet; None of almost every value."""
    return getattr(x, "shadow", None)


def _is_float(x: Any) -> bool:
    return type(x) is tensor and x.type.scalar.is_floating()


def _real(x: tensor) -> Any:
    data = np.asarray(x.handle)
    return widened(data, x.type.scalar) if x.type.scalar.is_floating() else data


def _defined(values: list[tensor], shape: tuple[int, ...]) -> Any:
    """Which elements nobody left undefined; None: all."""
    found: Any = None
    for x in values:
        poison = (x.marks or {}).get("poison")
        if poison is None:
            continue
        try:
            lost = np.broadcast_to(poison.lanes, shape)
        except ValueError:  # an operation that mixes elements: it has marked its result itself
            continue
        found = ~lost if found is None else found & ~lost
    return found


def _place() -> Place:
    site = user_site(4)
    return site.span, callers_of(site)


__all__ = ["Shadows", "shadow_of"]

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
from blockstep.interp.shadows.rules import MOVES, real, rounds_inputs, settled
from blockstep.interp.shadows.tally import Made, Place, Tally, left
from blockstep.language.frames import callers_of, user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor


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
            self._access(program, op, operands, attributes, result)
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
        if not shadowed and (op.family in MOVES or not results[0].type.scalar.is_floating()):
            return
        reals = [_real(x) if shadow_of(x) is None else shadow_of(x) for x in given]
        told = {k: v for k, v in attributes.items() if k != "operand_slots"}
        found = real(op, told, reals)
        if found is None:
            return
        for k, result in enumerate(results):
            shadow = np.asarray(found[k] if isinstance(found, tuple) else found)
            if op.family in MOVES or op.name in ("select", "hint"):
                result.shadow = np.broadcast_to(shadow, result.type.shape)
            else:
                self._take(program, told, given, (op, result, shadow, reals))

    def _take(
        self, program: Program, attributes: dict[str, Any], given: list[tensor], what: Any
    ) -> None:
        op, result, shadow, reals = what
        kind, shape = result.type.scalar, result.type.shape
        value = np.broadcast_to(np.asarray(result.handle), shape)
        made = Made(
            op, attributes, kind, value, np.broadcast_to(shadow, shape), reals,
            lambda: [_real(x) for x in given], lambda flat: program, shape,
            any(shadow_of(x) is not None for x in given),
        )  # fmt: skip
        settlement = settled(op, attributes, kind, value, made.shadow, reals)
        if settlement.differs is not None:
            self.tally.decide(_place(), made, settlement.differs)
        if settlement.shadow is None:
            return
        made.shadow = settlement.shadow
        seen = self.tally.add(
            _place(), made, rounds_inputs(op, attributes, [x.type.scalar for x in given])
        )
        if seen.worst or (
            seen.special and not np.array_equal(made.wide, made.shadow, equal_nan=True)
        ):
            result.shadow = made.shadow

    def _access(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> None:
        pointer, *rest = operands
        kind = pointer.type.scalar.element_ty
        view = pointer.origin
        if not isinstance(view, View) or view.storage is None:
            return
        storage = view.storage
        loads = op.name in ("load", "atomic_load")
        if not kind.is_floating() and (loads or not self.memory.cells.get(storage.base)):
            return
        mask = rest[0] if loads else None if op.name == "atomic_cas" else rest[-1]
        shape = pointer.type.shape
        index = (np.asarray(pointer.handle) - storage.base) // kind.itemsize
        on = None if mask is None else np.broadcast_to(np.asarray(mask.handle), shape)
        if loads:
            other = rest[1] if op.name == "load" else None
            self._load(storage, index, kind, on, (other, result))
            return
        active = ... if on is None else on
        whole = shadow_of(rest[0])
        values = _real(rest[0]) if whole is None else whole
        flat = np.broadcast_to(np.asarray(values, np.float64), shape)[active].reshape(-1)
        index = np.broadcast_to(index, shape)[active].reshape(-1)
        if not kind.is_floating():
            self.memory.write(storage, index, kind, None)
        elif op.name == "atomic_rmw":
            old = np.broadcast_to(_real(result), shape)[active].reshape(-1)
            self.memory.combine(storage, index, kind, flat, attributes["combine"], old)
            if attributes["combine"] == "add" and index.size:
                made = left(self.memory, storage, index, kind, op)
                made.who = lambda flat: program
                self.tally.add(_place(), made)
        else:
            kept = flat if op.name in ("store", "atomic_store") else None
            self.memory.write(storage, index, kind, kept)

    def _load(self, storage: Storage, index: Any, kind: Any, on: Any, given: Any) -> None:
        """Shadows of what was read, of the fill value, and none (NaN) of what nothing defines."""
        other, result = given
        values = _real(result)
        found = self.memory.read(storage, index, kind, values)
        if on is None or on.all():
            if found is not None:
                result.shadow = found
            return
        fill = None if other is None else shadow_of(other)
        if other is not None and found is None and fill is None:
            return
        if other is not None and fill is None:
            fill = _real(other)
        result.shadow = np.where(
            on, values if found is None else found, np.nan if fill is None else fill
        )


def shadow_of(x: Any) -> Any:
    """The facet; None of almost every value."""
    return getattr(x, "shadow", None)


def _is_float(x: Any) -> bool:
    return type(x) is tensor and x.type.scalar.is_floating()


def _real(x: tensor) -> Any:
    data = np.asarray(x.handle)
    return widened(data, x.type.scalar) if x.type.scalar.is_floating() else data


def _place() -> Place:
    site = user_site(4)
    return site.span, callers_of(site)


__all__ = ["Shadows", "shadow_of"]

"""What each decision about precision costs: the launch once more in float64, every operation rounded as
its type says, but for one decision.

A *decision* is that the operations of one source line round to one narrow type, or that a product rounds
its operands to tf32. Without it, what they give stays as it is until another operation rounds it: an
accumulator that is widened is wide all the way. Choices and branches are those of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.interp.bounds.ranges import rounded, widened
from blockstep.interp.grid.lanes import Lanes
from blockstep.interp.shadows.grid import ShadowMachine
from blockstep.interp.shadows.rules import rounds_inputs, settled
from blockstep.ir import Operation, Value
from blockstep.language import numerics
from blockstep.language import types as ty

WIDE = ("fp32", "fp64")


@dataclass(frozen=True, slots=True)
class Decision:
    """A line that rounds to `type`: "tf32" (operands of a product), "fp32" (an exponential or another
    operation of float32), or a narrower one. `what` is "inputs", "cast", "sum" (of a loop or reduction) or
    "arithmetic"."""

    file: str
    line: int
    type: str
    what: str
    span: Span

    @property
    def key(self) -> tuple[str, int, str]:
        """What makes two operations one decision."""
        return (self.file, self.line, self.type)


@dataclass(slots=True, eq=False)
class RoundedMachine(ShadowMachine):
    """Shadows that are rounded like the values, but for the decision `without` (a key)."""

    without: tuple[str, int, str] | None = None
    seen: dict[tuple[str, int, str], Decision] = field(default_factory=dict)

    def _follow(
        self, operation: Operation, operands: tuple[Any, ...], results: list[Lanes]
    ) -> None:
        given = [x for x in operands if x is not None]
        kinds = [x.type.scalar for x in given]
        name = rounds_inputs(operation.op, operation.attributes, kinds)
        if name:
            self._note(operation, name, "inputs")
            if not self._is_without(operation, name):
                for x in given[:2]:
                    exact = _real(x) if x.shadow is None else x.shadow
                    x.shadow = _tf32(exact)
        ShadowMachine._follow(self, operation, operands, results)

    def _take(
        self, operation: Operation, given: Sequence[Lanes], result: Lanes, shadow: Any,
        attributes: Any, reals: list[Any],
    ) -> None:  # fmt: skip
        kind = result.type.scalar
        if not kind.is_floating():
            return
        self._note(operation, str(kind), _what(operation))
        value = result.data()
        shadow = settled(operation.op, attributes, kind, value, shadow, reals).shadow
        if shadow is None:
            result.shadow = None
        elif kind.is_fp64() or self._is_without(operation, str(kind)):
            result.shadow = np.asarray(shadow, np.float64)
        else:
            result.shadow = rounded(shadow, kind)

    def _note(self, operation: Operation, type: str, what: str) -> None:
        location = operation.location
        if location is None:
            return
        span = location.span
        key = (span.file, span.line, type)
        known = self.seen.get(key)
        if known is None or _ORDER.index(what) < _ORDER.index(known.what):
            self.seen[key] = Decision(*key, what, span)

    def _is_without(self, operation: Operation, type: str) -> bool:
        location = operation.location
        if self.without is None or location is None:
            return False
        return self.without == (location.span.file, location.span.line, type)


_ORDER = ("inputs", "sum", "cast", "arithmetic")


def _what(operation: Operation) -> str:
    if operation.name in ("reduce", "scan") or _is_carried(operation):
        return "sum"
    return "cast" if operation.name == "cast" else "arithmetic"


def _is_carried(operation: Operation) -> bool:
    """Whether a sum goes round a loop: a result of it is what the next turn begins with."""
    if operation.name not in ("add", "sub", "fma", "mul", "dot"):
        return False
    region = operation.parent
    return (
        region is not None
        and any(value in region.terminator.operands for value in _reaching(operation.results[0]))
        and getattr(region.parent, "name", "") in ("for", "while")
    )


def _reaching(value: Value) -> list[Value]:
    """A value, and what casts make of it."""
    found = [value]
    for user, _ in value.uses:
        if user.name == "cast":
            found += user.results
    return found


def _real(x: Lanes) -> Any:
    return widened(x.data(), x.type.scalar)


def _tf32(x: Any) -> Any:
    return widened(numerics.tf32(np.asarray(x, np.float32)), ty.float32)


__all__ = ["WIDE", "Decision", "RoundedMachine"]

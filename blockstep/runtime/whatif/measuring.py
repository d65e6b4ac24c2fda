"""How far outputs are from what float64 gives, and how much of that each decision accounts for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.numerics import format_of
from blockstep.runtime.whatif.decisions import Decision, What, decisions
from blockstep.runtime.whatif.running import Repeated, Values
from blockstep.runtime.whatif.widening import NotWidened, rank

MOST_DECISIONS = 48  # re-runs of one launch


@dataclass(frozen=True, slots=True)
class Error:
    """How far one array is from what float64 gives. Elements that are NaN or infinite on one side
    only (or infinities of other signs) are `lost`; the other figures are of the rest. `ulps` are
    those of the array's format."""

    greatest: float
    rms: float
    size: float  # the root mean square of what is right
    relative: float
    ulps: float
    mean_ulps: float
    lost: int
    overflowed: int  # of the lost: infinite, and float64 gives a number
    underflowed: int  # zero, and float64 gives another number
    wrong: int  # elements that are further off than half a unit in the last place
    element: tuple[int, ...]  # the worst one

    @property
    def weight(self) -> tuple[int, float]:
        """What to compare errors by: first what is lost, then the root mean square."""
        return self.lost, self.rms


def ulp(values: Any, kind: ty.dtype) -> Any:
    """The unit in the last place of a format at each value (of its subnormals, near zero)."""
    form = format_of(kind.codegen_name())
    least = 1 - form.bias
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.abs(np.where(np.isfinite(values), values, 1.0)))[1] - 1
    exponent = np.where(values == 0, least, exponent)
    return np.ldexp(1.0, np.maximum(exponent, least) - form.fraction)


def error_of(found: Any, right: Any, kind: ty.dtype, before: Any = None) -> Error:
    """The error of an array; both are float64, `kind` is its format. With `before`, elements that
    neither changes are not counted."""
    with np.errstate(all="ignore"):
        same = (found == right) | (np.isnan(found) & np.isnan(right))
        lost = ~same & ~(np.isfinite(found) & np.isfinite(right))
        off = np.where(same | lost, 0.0, np.abs(found - right))
        units = off / ulp(right, kind)
        part = np.where(off == 0, 0.0, off / np.maximum(np.abs(right), np.abs(found)))
    worst = int(np.argmax(np.where(lost, np.inf, off))) if off.size else 0
    touched = off.size if before is None else _touched(found, right, before)
    count = max(touched, 1)
    return Error(
        float(off.max(initial=0.0)), float(np.sqrt(np.sum(off * off) / count)),
        float(np.sqrt(np.sum(np.where(np.isfinite(right), right, 0.0) ** 2) / count)),
        float(part.max(initial=0.0)), float(units.max(initial=0.0)), float(units.sum() / count),
        int(lost.sum()), int((np.isinf(found) & np.isfinite(right)).sum()),
        int(((found == 0) & (right != 0) & np.isfinite(right)).sum()),
        int((lost | (units > 0.5)).sum()),
        tuple(int(i) for i in np.unravel_index(worst, off.shape)) if off.size else (),
    )  # fmt: skip


def _touched(found: Any, right: Any, before: Any) -> int:
    return int(np.count_nonzero((found != before) | (right != before)))


@dataclass(frozen=True, slots=True)
class Cost:
    """What one decision costs: the error of the output that gains most without it, before and
    after. `why` says why it could not be measured."""

    decision: Decision
    output: str = ""
    before: Error | None = None
    after: Error | None = None
    why: str = ""

    @property
    def share(self) -> float:
        """The part of the error that goes away, 0 to 1 (below 0 where it grows)."""
        if self.before is None or self.after is None:
            return 0.0
        if self.before.lost != self.after.lost:
            return (self.before.lost - self.after.lost) / max(self.before.lost, self.after.lost)
        return 1.0 - self.after.rms / self.before.rms if self.before.rms else 0.0


@dataclass(slots=True, eq=False)
class Measured:
    """The outputs of a launch as they are and in float64, their errors, and the costs of decisions,
    the dearest first."""

    repeated: Repeated
    found: Values
    right: Values
    errors: dict[str, Error]
    costs: list[Cost] = field(default_factory=list)
    together: dict[str, Error] = field(default_factory=dict)
    """The errors with every decision on a format narrower than float32 taken the other way."""
    left_out: int = 0  # decisions that were not measured, for there are too many

    def add(self, cost: Cost) -> None:
        """Takes in one more decision."""
        self.costs = sorted([*self.costs, cost], key=lambda c: -c.share)

    def each(self) -> Iterator[tuple[str, Any, ty.dtype]]:
        """Each output: its name, its values in float64, its format."""
        for name, kind in self.repeated.outputs.items():
            yield name, self.right[name], kind

    @property
    def exact(self) -> bool:
        """Whether every output is what float64 gives."""
        return not any(e.lost or e.greatest for e in self.errors.values())


def measure(repeated: Repeated, most: int = MOST_DECISIONS) -> Measured:
    """Runs a launch as it is, in float64, and once for each decision. Raises NotWidened where the
    first two cannot be."""
    found, right = repeated.as_written(), repeated.in_double()
    made = Measured(repeated, found, right, _errors(repeated, found, right))
    if made.exact:
        return made
    all_ = decisions(repeated.function)
    made.left_out = max(len(all_) - most, 0)
    costs = [_cost(made, decision) for decision in all_[:most]]
    made.costs = sorted(costs, key=lambda c: -c.share)
    if sum(_is_narrow(d) for d in all_) > 1:
        made.together = _together(made)
    return made


def _is_narrow(decision: Decision) -> bool:
    return decision.what is What.TF32 or rank(decision.kind) < 2


def _together(measured: Measured) -> dict[str, Error]:
    repeated = measured.repeated
    try:
        values = repeated.widened(repeated.at_least(ty.float32))
    except NotWidened:
        return {}
    return _errors(repeated, values, measured.right)


def _errors(repeated: Repeated, found: Values, right: Values) -> dict[str, Error]:
    before = repeated.before()
    return {n: error_of(found[n], right[n], k, before[n]) for n, k in repeated.outputs.items()}


def _cost(measured: Measured, decision: Decision) -> Cost:
    repeated = measured.repeated
    how = decision.how
    if decision.arrays:
        how = repeated.with_memory(how, *decision.arrays)
    try:
        values = repeated.widened(how)
    except NotWidened as reason:
        return Cost(decision, why=str(reason))
    after = _errors(repeated, values, measured.right)
    costs = [Cost(decision, n, measured.errors[n], after[n]) for n in after]
    return max(costs, key=lambda c: c.share)


__all__ = ["Cost", "Error", "MOST_DECISIONS", "Measured", "error_of", "measure", "ulp"]

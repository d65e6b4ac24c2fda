"""The lines that `blockstep verify` prints of a launch: one a rung."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from blockstep.diagnostics.words import plural, triple
from blockstep.runtime.ladder.outcome import Climb, Outcome, Status


def text_of(climb: Climb, every: bool = False) -> str:
    """The launch, and a line for each rung; passes that change nothing only with `every`."""
    number = f", launch {climb.number}" if climb.number is not None else ""
    head = f"{climb.kernel}{number}, grid {triple(climb.grid)}"
    shown = [o for o in climb.outcomes if every or o.status is not Status.SAME]
    width = max([len(o.rung) for o in shown], default=0)
    return "\n".join([head, *[f"  {o.rung:<{width}}  {line(o)}" for o in shown]])


def line(outcome: Outcome) -> str:
    """What became of one rung."""
    more = f": {outcome.text}" if outcome.text else ""
    if outcome.status is Status.EQUAL:
        return "ok"
    if outcome.status is Status.WITHIN:
        return f"within the bound: {_ulps(outcome)} in {plural(outcome.within, 'element')}"
    if outcome.status is Status.ORDERED:
        return f"ok, order aside{more}"
    if outcome.status is Status.UNDECIDED:
        return (
            f"undecided: {plural(outcome.undecided + outcome.ordered, 'element')}{_order(outcome)}"
        )
    if outcome.status is Status.DIFFERS:
        return f"differs: {_what(outcome)}"
    return f"{outcome.status.value}{more}"


def _ulps(outcome: Outcome) -> str:
    return f"at most {outcome.ulps:.0f} ulp" + ("" if outcome.ulps == 1 else "s")


def _order(outcome: Outcome) -> str:
    return f", {outcome.ordered} of them by order" if outcome.ordered else ""


def _what(outcome: Outcome) -> str:
    found = outcome.mismatch
    if found is None and outcome.beyond:
        extra = outcome.beyond[0]
        verb = "writes" if extra.writes else "reads"
        name = f" of `{extra.storage.name}`" if extra.storage.name else ""
        size = plural(len(extra.offsets), "byte")
        return f"{verb} {size}{name} that the source never {verb}"
    if found is None:
        fault = outcome.faults[0]
        return f"{fault.kind}: {fault.what}"
    at = ", ".join(map(str, found.element))
    return (
        f"{found.argument}[{at}] is {found.found} and not {found.wanted}; "
        f"{found.count} of {plural(found.total, 'element')}"
    )


def summary(climbs: Sequence[Climb]) -> str:
    """The last line."""
    wrong = sum(c.disagrees for c in climbs)
    open_ = sum(not c.disagrees and not c.passed for c in climbs)
    parts = [f"{sum(c.passed for c in climbs)} agree on every rung"]
    parts += [f"{wrong} disagree"] if wrong else []
    parts += [f"{open_} undecided or not run on every rung"] if open_ else []
    launches = "1 launch" if len(climbs) == 1 else f"{len(climbs)} launches"
    return f"{launches}: {', '.join(parts)}"


def climb_json(climb: Climb) -> dict[str, Any]:
    """A climb as plain data."""
    return {
        "kernel": climb.kernel,
        "launch": climb.number,
        "grid": list(climb.grid),
        "seconds": climb.seconds,
        "passed": climb.passed,
        "rungs": [_rung_json(o) for o in climb.outcomes],
    }


def _rung_json(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rung": outcome.rung, "status": outcome.status.value, "text": line(outcome),
        "seconds": outcome.seconds,
    }  # fmt: skip
    if outcome.status in (Status.WITHIN, Status.UNDECIDED, Status.ORDERED):
        ulps = outcome.ulps if math.isfinite(outcome.ulps) else None
        found |= {
            "ulps": ulps, "within": outcome.within, "undecided": outcome.undecided,
            "ordered": outcome.ordered,
        }  # fmt: skip
    return found


__all__ = ["climb_json", "line", "summary", "text_of"]

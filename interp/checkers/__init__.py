"""The checkers of a launch, by the kinds of finding that somebody wants."""

from __future__ import annotations

from collections.abc import Callable

from blockstep.findings import KINDS
from blockstep.interp.checkers.bounds import Bounds
from blockstep.interp.checkers.grid import Grid, Outputs
from blockstep.interp.checkers.overlap import Overlap
from blockstep.interp.checkers.precision import Precision
from blockstep.interp.checkers.race import Race
from blockstep.interp.checkers.uninit import Uninit
from blockstep.interp.events import Checker

# Bounds comes first: the others may assume that every active lane lies inside its storage.
# Precision comes last: no lane leaves an access after it has seen it.
ALL: tuple[type[Checker], ...] = (Bounds, Uninit, Overlap, Race, Grid, Precision)


def checkers_for(wants: Callable[[str], bool], outputs: Outputs | None = None) -> list[Checker]:
    """A fresh set for one launch. Bounds is always there: it keeps memory safe for the rest.

    `outputs` are the unfinished ones of the session; without, each launch has to finish its own."""
    wanted = {kind.checker for kind in KINDS.values() if wants(kind.name)}
    chosen = [make for make in ALL if make is Bounds or make.name in wanted]
    return [Grid(outputs) if make is Grid else make() for make in chosen]

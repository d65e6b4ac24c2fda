"""The checkers of a launch, by the kinds of finding that somebody wants."""

from __future__ import annotations

from collections.abc import Callable
from blockstep.interp.checkers.race import *
from blockstep.interp.events import Checker

def checkers_for(wants: Callable[[str], bool]) -> list[Checker]:
    return []

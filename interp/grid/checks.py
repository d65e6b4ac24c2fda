"""What the grid machine has to prove of a launch, from the kinds of finding that somebody wants.

A checker that nobody wants costs nothing: its facts are not even gathered. Two things are proved all
the same, since without them the machine could not answer for the rest: every access lies inside its
view, and (in a judged launch) program instances are independent where one may read what another
writes, for only then does running them side by side show each the values that it would see in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockstep.interp.marks import KIND_OF


@dataclass(frozen=True, slots=True)
class Checks:
    """What is judged; nothing at all unless `judged`."""

    judged: bool = False
    race: bool = False
    overlap: bool = False
    uninit: bool = False
    grid: bool = False
    hint: bool = False
    marks: frozenset[str] = frozenset()  # of values, as in `interp.marks`

    @property
    def precise(self) -> bool:
        """Whether NaN that matters is a suspicion."""
        return "nan" in self.marks

    @property
    def flags(self) -> bool:
        """Whether anybody asks which bytes were written."""
        return self.uninit or self.grid


def checks_for(wants: Callable[[str], bool], ordered: bool) -> Checks:
    """The checks behind the kinds of finding that are wanted. `ordered`: the outcome must be that of
    one order of program instances, so that no two may collide even where races are not wanted."""
    return Checks(
        judged=True,
        race=ordered or wants("race"),
        overlap=wants("overlap"),
        uninit=wants("uninitialised"),
        grid=wants("grid"),
        hint=wants("hint"),
        marks=frozenset([mark for mark, kind in KIND_OF.items() if wants(kind)]),
    )


UNJUDGED = Checks()

"""`Climbing`: every launch inside goes up the ladder with other launch options, and must agree.

The launch itself is made afterwards, as it was. What the climbs came to is counted in the test's
report, from where it gets to the summary of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from blockstep import diagnostics
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.ladder import Climb, Verifier
from tests.differential.sample import COUNTS, current


class Disagrees(AssertionError):
    """A rung that differs: the launch, its options, the rungs, and how to run it again alone."""


@dataclass(slots=True)
class Climbing:
    """The climbs of one test."""

    node: pytest.Item
    climbs: list[Climb] = field(default_factory=list)

    def check(self, climb: Climb, options: Mapping[str, Any]) -> Climb:
        """Counts a climb. Raises Disagrees."""
        self.climbs.append(climb)
        if climb.disagrees:
            told = ", ".join(f"{name}={value!r}" for name, value in options.items())
            findings = diagnostics.render_all(list(climb.findings))
            raise Disagrees(f"launched with {told}\n{climb}\n{findings}\n{self.again}")
        return climb

    @property
    def again(self) -> str:
        """The command that runs the test alone."""
        seed = current().seed
        return f"to repeat it: python -m pytest '{self.node.nodeid}' --ladder-seed {seed}"

    @contextmanager
    def launches(
        self, options: Mapping[str, Any], judges: Callable[[str, int], bool] | None = None
    ) -> Iterator[None]:
        """Launches inside climb with these options, those that `judges` says (by kernel and
        number). Raises Disagrees."""
        verifier = Verifier(runs=False, before=current_launcher())
        before, count = current_launcher(), 0

        def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
            nonlocal count
            count += not warmup
            if not warmup and (judges is None or judges(function.__name__, count)):
                more = {k: v for k, v in options.items() if k not in function.arg_names}
                given = {**kwargs, **more}
                verifier(function, args, given, grid=grid, warmup=False)
                self.check(verifier.climbs[-1], more)
            return before(function, args, kwargs, grid=grid, warmup=warmup)

        with launching(launch):
            yield

    def tell(self) -> None:
        """Puts the counts into the test's report."""
        self.node.user_properties.append((COUNTS, dict(Counter(map(outcome, self.climbs)))))


def outcome(climb: Climb) -> str:
    """What a climb came to, in a word or two."""
    if climb.disagrees:
        return "disagree"
    if climb.passed:
        return "agree on every rung"
    return "undecided or not on every rung" if climb.compared else "not compiled"


__all__ = ["Climbing", "Disagrees"]

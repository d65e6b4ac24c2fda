"""`agreeing()`: every launch inside runs on each machine first, on copies, and must agree.

So whatever launches kernels (rows of operations, examples, other tests) also tests the grid machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from blockstep.language.function import current_launcher, launching
from tests.agreement.agree import Outcome, agree


@dataclass(slots=True)
class _Kernel:
    """A jit function under the launcher that was there before."""

    launcher: Any
    function: Any

    def __getitem__(self, grid: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> None:
            self.launcher(self.function, arguments, named, grid=grid, warmup=False)

        return call


@dataclass(slots=True)
class Seen:
    """What the grid machine made of the launches."""

    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)

    @property
    def on_step(self) -> list[str]:
        """Kernels that some launch of ran on the step machine."""
        return sorted({name for name, outcome in self.outcomes if not outcome.on_grid})


@contextmanager
def agreeing() -> Iterator[Seen]:
    """Launches inside raise Disagreement where the machines differ."""
    seen = Seen()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if not warmup:
            found = agree(_Kernel(before, function), grid, *args, **kwargs)
            seen.outcomes.append((function.__name__, found))
        return before(function, args, kwargs, grid=grid, warmup=warmup)

    with launching(launch):
        yield seen

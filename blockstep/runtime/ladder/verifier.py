"""`verify(...)` for one launch, and `Verifier`, which stands in for the launcher of a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockstep.language import frames
from blockstep.language.function import JITFunction, current_launcher, launching
from blockstep.runtime.ladder.climb import climb
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.outcome import Climb
from blockstep.runtime.ladder.rung import Rung


@dataclass(slots=True, eq=False)
class Verifier:
    """Climbs with every launch that it is given, then launches it as usual. `judges` says which
    launches are climbed with, by kernel and number; `told` hears of each climb."""

    judges: Callable[[str, int], bool] = lambda kernel, number: True
    told: Callable[[Climb], None] = lambda climbed: None
    more: Callable[[Launch], Iterable[Rung]] = lambda launch: ()
    runs: bool = True  # whether the launch is made afterwards
    climbs: list[Climb] = field(default_factory=list)
    count: int = 0
    before: Any = None

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        if not warmup:
            self.count += 1
            if self.judges(function.__name__, self.count):
                host = frames.user_site(1).span
                launch = take(function, tuple(args), kwargs, grid, host)
                launch.number = self.count
                found = climb(launch, self.more(launch))
                self.climbs.append(found)
                self.told(found)
        if warmup or self.runs:
            return self.before(function, args, kwargs, grid=grid, warmup=warmup)
        return None


def verify(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, rungs: Iterable[Rung] = (), **kwargs: Any
) -> Climb:
    """What `blockstep.verify` says."""
    more = list(rungs)
    verifier = Verifier(more=lambda launch: more, runs=False, before=current_launcher())
    with launching(verifier):
        kernel[grid](*args, **kwargs)
    return verifier.climbs[-1]


__all__ = ["Verifier", "verify"]

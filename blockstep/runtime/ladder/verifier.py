"""`verify(...)` for one launch, and `Verifier`, which stands in for the launcher of a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockstep.language.function import current_launcher, launching
from blockstep.runtime.ladder.climb import climb
from blockstep.runtime.ladder.compiling import Kept
from blockstep.runtime.ladder.launch import Launch, StandIn
from blockstep.runtime.ladder.outcome import Climb
from blockstep.runtime.ladder.rung import Rung
from blockstep.runtime.ladder.shrinking import reproducer
from blockstep.runtime.ladder.sources import NotWritten


@dataclass(slots=True, eq=False)
class Verifier(StandIn):
    """Climbs with every launch that it is given, then launches it as usual. `judges` says which
    launches are climbed with, by kernel and number; `told` hears of each climb."""

    told: Callable[[Climb], None] = lambda climbed: None
    more: Callable[[Launch], Iterable[Rung]] = lambda launch: ()
    ours: bool = True  # whether our compiler and the device are climbed
    shrinks: str = ""  # the file for a reproducer of the first launch that disagrees
    climbs: list[Climb] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # of reproducers
    kept: Kept = field(default_factory=Kept)

    def look(self, launch: Launch) -> None:
        """Climbs with a launch."""
        made = self.kept.of(launch)
        found = climb(launch, self.more(launch), made, ours=self.ours)
        self.take(found)
        if found.first_wrong is not None and self.shrinks:
            self._shrink(launch, found)

    def take(self, found: Climb) -> None:
        """Hears of a climb, its own or one that a script made itself."""
        self.climbs.append(found)
        self.told(found)

    def _shrink(self, launch: Launch, found: Climb) -> None:
        assert found.first_wrong is not None
        file, self.shrinks = self.shrinks, ""
        try:
            text = reproducer(launch, found.first_wrong)
        except NotWritten as reason:
            self.said.append(f"no reproducer was written: {reason}")
            return
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        self.said.append(f"a reproducer was written: {file}")


def verify(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, rungs: Iterable[Rung] = (), **kwargs: Any
) -> Climb:
    """What `blockstep.verify` says."""
    more = list(rungs)
    outer = current_launcher()
    verifier = Verifier(more=lambda launch: more, runs=False, before=outer)
    with launching(verifier):
        kernel[grid](*args, **kwargs)
    found = verifier.climbs[-1]
    if isinstance(outer, Verifier):  # of `blockstep verify`, which counts and files it
        outer.take(found)
    return found


__all__ = ["Verifier", "verify"]

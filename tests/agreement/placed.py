"""`placed_agree(...)`: a launch gives the same bits on the grid machine after every pass.

The first run is of the IR as the front end made it; each later one is of what the next pass of the
compiler's pipeline made of it, which must also verify and read back from its text. Each run gets
its own copy of the arguments. `placing()` does that to every launch inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.errors import TritonError
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused, plan
from blockstep.ir import Function, dump, parse, verify
from blockstep.language.function import current_launcher, launching
from blockstep.runtime import ladder
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.ladder.compiling import made_for
from tests.agreement.agree import Disagreement, Empty, Outcome, compare, copies

TARGETS = ("sm_90a", "sm_80")


@dataclass(frozen=True, slots=True)
class Stage:
    """What one pass left. `name` is the pass."""

    name: str
    function: Function
    text: str


@dataclass(slots=True)
class Launch:
    """One launch that can be repeated, each time on a copy of its arguments."""

    kernel: Any
    grid: Any
    arguments: Sequence[Any]
    named: dict[str, Any]

    def taken(self, target: str) -> ladder.Launch:
        """The launch, compiled for a target; memory that nobody has written is zero."""
        given = [*self.arguments, *self.named.values()]
        given = copies([np.zeros(a.shape, a.dtype) if isinstance(a, Empty) else a for a in given])
        count = len(self.arguments)
        named = dict(zip(self.named, given[count:], strict=True))
        return ladder.take(self.kernel, tuple(given[:count]), {**named, "arch": target}, self.grid)

    def stages(self, target: str) -> list[Stage]:
        """The IR after each pass that changed it, the front end's first."""
        launch = self.taken(target)
        found = [Stage("frontend", launch.made.clone(), dump(launch.made))]
        for stage in made_for(launch).stages:
            if stage.changed:
                function = stage.function
                found.append(Stage(stage.name.partition(":")[0], function, dump(function)))
        return found

    def run(self, function: Function) -> Outcome:
        """What the grid machine makes of a function, unjudged. Raises Refused, Suspicion."""
        launch = self.taken(TARGETS[0])
        GridMachine(function, plan(function), launch.grid, launch.arguments, UNJUDGED).run()
        given = [*launch.args, *launch.kwargs.values()]
        arrays = [a.base if isinstance(a, TensorDescriptor) else a for a in given]
        return Outcome(tuple(a for a in arrays if isinstance(a, np.ndarray)), (), "", ("grid",))


def reads_back(text: str) -> None:
    """A text is that of the function that it says, and so is it without the source's lines."""
    again = parse(text)
    verify(again)
    assert dump(again) == text
    short = dump(again, locations=False)
    assert dump(parse(short), locations=False) == short


def placed_agree(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> list[Stage]:
    """The stages of a launch, each of which gave the same bits. Raises Disagreement; Refused,
    Suspicion or TritonError for a launch that the grid machine or the compiler does not take."""
    launch = Launch(kernel, grid, arguments, named)
    found: list[Stage] = []
    wanted: Outcome | None = None
    for target in TARGETS:
        for stage in launch.stages(target):
            reads_back(stage.text)
            if stage.text in [other.text for other in found]:
                continue
            found.append(stage)
            wanted = _as_before(launch, stage, wanted)
    return found


def _as_before(launch: Launch, stage: Stage, wanted: Outcome | None) -> Outcome:
    """What a stage gives, which must be what is wanted, if that is known."""
    if wanted is None:
        return launch.run(stage.function)
    try:
        compare(wanted, launch.run(stage.function))
    except (Refused, Suspicion) as error:  # the first stage ran
        raise Disagreement("left", f"after {stage.name}: {error!r}") from error
    return wanted


@dataclass(slots=True)
class Seen:
    """Launches that were compared, and why others were not, by kernel."""

    compared: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


@contextmanager
def placing() -> Iterator[Seen]:
    """Launches inside raise Disagreement where a pass changes their results."""
    seen = Seen()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if not warmup:
            try:
                placed_agree(function, grid, *args, **kwargs)
                seen.compared.append(function.__name__)
            except (Refused, TritonError, Suspicion) as error:
                seen.left[function.__name__] = f"{type(error).__name__}: {error}"
        return before(function, args, kwargs, grid=grid, warmup=warmup)

    with launching(launch):
        yield seen

"""Which rungs there are for a launch, in order: step, grid, one after each pass, ptx, gpu."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from blockstep.errors import TritonError
from blockstep.runtime.ladder.compiling import Made, PassFailed, Stage
from blockstep.runtime.ladder.device import Gpu
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import Grid, KeepsCalls, Ptx, Step, error_text, fresh
from blockstep.runtime.ladder.rung import Broken, Fault, NotRun, Ran, Rule, Rung


class SameIR(Exception):
    """A pass changed nothing: its rung is the one before."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A rung that cannot be run, and why."""

    name: str
    why: str
    rule: Rule = Rule.BITS

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun."""
        raise NotRun(self.why)


@dataclass(frozen=True, slots=True)
class Failed:
    """A pass that failed."""

    name: str
    what: str
    rule: Rule = Rule.BITS

    def run(self, launch: Launch) -> Ran:
        """Raises Broken."""
        raise Broken(Fault("pass", self.what))


@dataclass(frozen=True, slots=True, eq=False)
class AfterPass:
    """The grid machine on what a pass left. `before` has the grid machine's earlier runs: where one
    of them ran, so must this."""

    stage: Stage
    before: list[Grid]
    rule: Rule = Rule.BITS

    @property
    def name(self) -> str:
        return f"after {self.stage.name}"

    def run(self, launch: Launch) -> Ran:
        """Raises SameIR for a pass that changed nothing, and what `Grid.run` raises."""
        if not self.stage.changed:
            raise SameIR
        strict = any(grid.ran for grid in self.before)
        grid = Grid(self.name, self.stage.function, strict=strict, hears=not strict)
        self.before.append(grid)
        return grid.run(launch)


def rungs_of(launch: Launch, made: Made) -> Iterator[Rung]:
    """The rungs in order. What comes later is compiled when it is asked for. Of a kernel that keeps
    calls, which the grid machine does not run, `after inline` is the first rung of that machine."""
    yield Step()
    grids: list[Grid] = []
    goes_on = True
    try:
        grids.append(fresh(launch))
        yield grids[0]
        goes_on = grids[0].ran
    except KeepsCalls:
        pass
    except NotRun as reason:
        goes_on = False
        yield Absent("grid", str(reason))
    compiled = yield from _passes(made, grids, goes_on)
    if compiled:
        if not made.options.exact:
            yield Ptx(made, exact=True)
        yield Ptx(made, exact=False)
    yield Gpu()


def _passes(made: Made, grids: list[Grid], goes_on: bool) -> Generator[Rung, None, bool]:
    """One after each pass; whether there is something to lower."""
    try:
        stages = made.stages
    except PassFailed as failed:
        yield Failed(f"after {failed.name}", str(failed))
        return False
    except TritonError as error:
        yield Absent("passes", error_text(error))
        return False
    if goes_on:
        for stage in stages:
            yield AfterPass(stage, grids)
    return True


__all__ = ["Absent", "AfterPass", "Failed", "SameIR", "rungs_of"]

"""The rungs: the step machine, the grid machine on IR of any pass, the ptx machine, a device."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from blockstep import target
from blockstep.compiler.passes.inline import Inline
from blockstep.errors import TritonError
from blockstep.findings import Span
from blockstep.interp.grid.asynchronous import Hazard
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused, plan
from blockstep.interp.ptx import faults as ptx
from blockstep.interp.scheduler import Deadlock, Scheduler
from blockstep.interp.step import StepMachine
from blockstep.ir import Function
from blockstep.options import Options
from blockstep.runtime import execution, session
from blockstep.runtime.ladder.compiling import Made
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.rung import Broken, Fault, NotRun, Ran, Rule
from blockstep.runtime.ptx.running import run_binary


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """What a kernel prints on a rung is printed by the launch itself, once."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@dataclass(frozen=True, slots=True)
class Step:
    """The user's own lines, one program instance after another: what all others are held to."""

    name: str = "step"
    rule: Rule = Rule.BITS

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun where the kernel itself ends in an error."""
        scheduler = Scheduler(launch.grid, seed=0)
        machine = StepMachine(
            launch.kernel, launch.grid, launch.bound.space, scheduler, target.current(),
            launch.told["num_warps"], host=launch.host,
        )  # fmt: skip
        quiet = session.make(Options(machine="step"))
        with session.using(quiet), silent():
            try:
                execution.execute(machine, launch.function.body, launch.bound, quiet)
            except (TritonError, Deadlock, ArithmeticError, ValueError, TypeError) as error:
                raise NotRun(f"the kernel itself ends in {error_text(error)}") from error
        return Ran()


@dataclass(slots=True, eq=False)
class Grid:
    """The grid machine on a function: IR as the front end made it, or after a pass."""

    name: str
    function: Function
    rule: Rule = Rule.BITS

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun for IR that only the step machine takes, Broken for placed IR that uses
        something asynchronous too early."""
        try:
            chosen = plan(self.function)
            GridMachine(
                self.function, chosen, launch.grid, launch.arguments, UNJUDGED
            ).run()  # fmt: skip
        except Refused as refused:
            raise NotRun(str(refused)) from refused
        except Suspicion as suspicion:
            raise NotRun("only the step machine can follow its addresses") from suspicion
        except Hazard as hazard:
            found = hazard.finding
            raise Broken(Fault(found.kind, found.message, found.span)) from hazard
        return Ran()


def fresh(launch: Launch) -> Grid:
    """The grid machine on the IR of the front end. Raises NotRun where there is none."""
    try:
        made = launch.made
    except TritonError as error:
        raise NotRun(f"the front end does not take the kernel: {error_text(error)}") from error
    if made.callees:  # the grid machine runs no calls
        made = made.clone()
        Inline().apply(made)
    try:
        plan(made)
    except Refused as refused:
        raise NotRun(str(refused)) from refused
    return Grid("grid", made)


@dataclass(slots=True, eq=False)
class Ptx:
    """The PTX that the compiler makes, on the ptx machine."""

    made: Made
    exact: bool
    name: str = field(init=False)
    rule: Rule = field(init=False)

    def __post_init__(self) -> None:
        self.name = "ptx, exact" if self.exact else "ptx"
        self.rule = Rule.EXACT if self.exact else Rule.FAST

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun for what the compiler or the machine lacks, Broken for a trap."""
        try:
            binary = self.made.binary(self.exact)
            with silent():
                ran = run_binary(binary, launch.bound, launch.grid)
        except TritonError as error:  # NotSupported is one
            raise NotRun(error_text(error)) from error
        except ptx.Trap as trap:
            raise Broken(fault_of(trap.fault)) from trap
        except ptx.Malformed as malformed:
            raise Broken(Fault("compiler", f"PTX that is malformed: {malformed}")) from malformed
        return Ran([fault_of(f) for f in ran.report.faults])


def fault_of(fault: ptx.Fault) -> Fault:
    """A fault of the ptx machine, at the kernel's line."""
    place = fault.place
    span = Span(place.file, place.kernel_line, place.column) if place.file else None
    return Fault(fault.kind, fault.what, span, f"PTX line {place.line}: {place.text}")


def error_text(error: BaseException) -> str:
    """An error in one line."""
    text: Any = getattr(error, "error_message", None) or str(error)
    text = str(text).strip()
    name = type(error).__name__
    return f"{name}: {text.splitlines()[0]}" if text else name


__all__ = ["Grid", "Ptx", "Step", "error_text", "fault_of", "fresh", "silent"]

"""The rungs: the step machine, the grid machine on IR of any pass, the ptx machine, a device."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockstep import target
from blockstep.errors import TritonError
from blockstep.findings import Span
from blockstep.interp.grid.asynchronous import Hazard
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import READS, WRITES, Refused, plan, reached
from blockstep.interp.memory import View
from blockstep.interp.ptx import faults as ptx
from blockstep.interp.ptx.batch import Watcher
from blockstep.interp.ptx.faults import Place, Trap
from blockstep.interp.ptx.global_races import GlobalRaces
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.step import StepMachine
from blockstep.ir import Function
from blockstep.options import Options
from blockstep.runtime import execution, session
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.ladder.compiling import Made
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.rung import Broken, Fault, NotRun, Ran, Rule
from blockstep.runtime.ladder.touched import FirstAt, Touched
from blockstep.runtime.ptx.running import run_binary

OUTSIDE = "an access that the source does not make, outside of the arguments or not aligned"


KERNEL_ERRORS = (
    TritonError, AssertionError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""What a kernel may end in on the step machine; a deadlock is a RuntimeError."""


class KeepsCalls(Exception):
    """The IR of the front end has calls, which the pass `inline` does away with."""


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
            except KERNEL_ERRORS as error:
                raise NotRun(f"the kernel itself ends in {error_text(error)}") from error
        return Ran()


@dataclass(slots=True, eq=False)
class Grid:
    """The grid machine on a function: IR as the front end made it, or after a pass."""

    name: str
    function: Function
    rule: Rule = Rule.BITS
    strict: bool = False  # the IR before ran, so this must
    hears: bool = False  # of what is read and written
    ran: bool = False

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun for IR that only the step machine takes, Broken for placed IR that uses
        something asynchronous too early, and for IR that must run and does not."""
        touched = Touched(launch.bound.space) if self.hears else None
        function = without_prints(self.function)
        try:
            GridMachine(
                function, plan(function), launch.grid, launch.arguments, UNJUDGED,
                heard=None if touched is None else touched.heard,
            ).run()  # fmt: skip
        except Refused as refused:
            if self.strict:
                raise Broken(Fault("order", str(refused))) from refused
            raise NotRun(str(refused)) from refused
        except Suspicion as suspicion:
            if self.strict:
                raise Broken(Fault("out-of-bounds", OUTSIDE)) from suspicion
            raise NotRun("only the step machine can follow its addresses") from suspicion
        except Hazard as hazard:
            found = hazard.finding
            raise Broken(Fault(found.kind, found.message, found.span)) from hazard
        self.ran = True
        return Ran(touched=touched)


def without_prints(function: Function) -> Function:
    """The function, or a copy that prints nothing: what is printed comes in the order of program
    instances, which the grid machine does not keep."""
    if not any(o.name == "print" for o in function.walk()):
        return function
    made = function.clone()
    for operation in list(made.walk()):
        if operation.name == "print":
            operation.erase()
    return made


def fresh(launch: Launch) -> Grid:
    """The grid machine on the IR of the front end. Raises NotRun where there is none,
    KeepsCalls."""
    try:
        made = launch.made
    except TritonError as error:
        raise NotRun(f"the front end does not take the kernel: {error_text(error)}") from error
    if made.callees:
        raise KeepsCalls
    try:
        plan(without_prints(made))
    except Refused as refused:
        raise NotRun(str(refused)) from refused
    return Grid("grid", made, hears=True)


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
        return run_compiled(lambda: self.made.binary(self.exact), launch)

    def place_of(self, launch: Launch, address: int, writes: bool) -> Place | None:
        """The first line that reads, or writes, a byte. Memory is put back."""
        return place_in(self.made.binary(self.exact), launch, address, writes)


def run_compiled(compiled: Callable[[], Binary], launch: Launch) -> Ran:
    """Compiles and runs a launch on the ptx machine. Raises NotRun for what the compiler or the
    machine lacks, Broken for a trap."""
    touched = Touched(launch.bound.space)
    try:
        binary = compiled()
        ran = run_watched(binary, launch, [touched, *races_of(launch)])
    except TritonError as error:  # NotSupported is one
        raise NotRun(error_text(error)) from error
    except ptx.Trap as trap:
        raise Broken(fault_of(trap.fault)) from trap
    except ptx.Malformed as malformed:
        raise Broken(Fault("compiler", f"PTX that is malformed: {malformed}")) from malformed
    faults = [fault_of(f) for f in ran.report.faults]
    if ran.assertion is not None:  # the source's hold: it has run
        site = binary.sites[ran.assertion.site]
        faults.insert(0, Fault("assert", f"`{site.message}` fails", site.span))
    return Ran(faults, touched)


def place_in(binary: Binary, launch: Launch, address: int, writes: bool) -> Place | None:
    """The first line of compiled code that reads, or writes, a byte. Memory is put back."""
    found = FirstAt(address, writes)
    try:
        run_watched(binary, launch, [found])
    except (TritonError, Trap):
        pass  # what came before was heard
    finally:
        launch.memory.restore()
    return found.place


def run_watched(binary: Binary, launch: Launch, watchers: Sequence[Watcher]) -> Any:
    """A launch on the ptx machine. Raises what `run_binary` raises."""
    with silent():
        return run_binary(binary, launch.bound, launch.grid, watchers=watchers)


def races_of(launch: Launch) -> list[GlobalRaces]:
    """A watcher of the memory that the kernel reads and writes, if there is such."""
    function = launch.made
    operations = [o for f in (function, *function.callees) for o in f.walk()]
    read = reached([o for o in operations if o.name in READS])
    written = reached([o for o in operations if o.name in WRITES])
    views = [v for v in launch.arguments.values() if isinstance(v, View)]
    names = [
        None if n is None else _bases(v for v in views if v.name in n) for n in (read, written)
    ]
    chosen = [
        s for s in launch.bound.space.storages
        if s.nbytes and all(n is None or s.base in n for n in names)
    ]  # fmt: skip
    if not chosen:
        return []
    return [GlobalRaces(chosen, min([v.itemsize for v in views], default=1))]


def _bases(views: Iterable[View]) -> set[int]:
    return {v.storage.base for v in views if v.storage is not None}


def fault_of(fault: ptx.Fault) -> Fault:
    """A fault of the ptx machine, at the kernel's line."""
    place = fault.place
    return Fault(fault.kind, fault.what, span_of(place), f"PTX line {place.line}: {place.text}")


def span_of(place: Place) -> Span | None:
    """The kernel's line that a line of PTX was made from."""
    return Span(place.file, place.kernel_line, place.column) if place.file else None


def error_text(error: BaseException) -> str:
    """An error in one line."""
    text: Any = getattr(error, "error_message", None) or str(error)
    text = str(text).strip()
    name = type(error).__name__
    return f"{name}: {text.splitlines()[0]}" if text else name


__all__ = [
    "Grid",
    "KERNEL_ERRORS",
    "KeepsCalls",
    "Ptx",
    "Step",
    "error_text",
    "fault_of",
    "fresh",
    "races_of",
    "run_watched",
    "span_of",
    "silent",
]

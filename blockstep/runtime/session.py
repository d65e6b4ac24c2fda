"""What is in force for launches: options and, under `check`, the report they file findings in.

A `with blockstep.check()` block holds for its context, and for threads that have none of their own
(they see the innermost open block); the command line sets the default of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockstep import allow as allow_lists
from blockstep import knobs
from blockstep.findings import Filters, Report, Severity
from blockstep.interp.checkers.grid import Outputs
from blockstep.options import COMPILED, MACHINES, Options, Program, machine_from_environment

if TYPE_CHECKING:
    from blockstep.runtime.capture import Captures


@dataclass(eq=False, slots=True)
class Session:
    """Options, and the report that judged launches file findings in."""

    options: Options
    report: Report
    outputs: Outputs = field(default_factory=Outputs)  # unfinished ones, judged at the end
    captures: Captures | None = None  # what has pictures made of judged launches
    file: Path | None = None  # where a child process leaves its report
    on_instance: Callable[[str, Any, Program], None] | None = None  # a debugger's: kernel, code, id
    watchers: Callable[[str, Any], Sequence[Any]] | None = None
    """A profiler's: by kernel and Binary, who is to hear of its accesses on the ptx machine."""


_local: ContextVar[Session | None] = ContextVar("blockstep_session", default=None)
_open: list[Session] = []  # those that threads without a session of their own share
_process: Session | None = None

excused: ContextVar[tuple[type[BaseException], ...]] = ContextVar("blockstep_excused", default=())
"""Errors that a caller of the launch expects and deals with: no findings."""


def make(options: Options, allow: Any = None) -> Session:
    """A session with an empty report for these options."""
    filters = Filters(
        options.only,
        options.skip,
        options.kernel,
        options.launches,
        options.max_findings,
        frozenset({"precision"}) if options.precision or options.bounds else frozenset(),
    )
    known = allow if allow is not None else allow_lists.AllowList()
    report = Report(filters=filters, fail_on=Severity(options.fail_on), allow=known)
    return Session(options, report)


def current() -> Session:
    """The session in force; an unjudged one if nobody opened any."""
    global _process
    session = _local.get() or (_open[-1] if _open else _process)
    if session is None:
        session = _process = make(Options(machine=machine_from_environment()))
    return session


def _compiles() -> bool:
    """Whether a machine was chosen that runs compiled code; no session is opened to find out."""
    session = _local.get() or (_open[-1] if _open else _process)
    name = machine_from_environment() if session is None else session.options.machine
    return name in COMPILED


knobs.machine_compiles = _compiles


def set_process(session: Session | None) -> None:
    """Makes `session` the default of every thread of the process."""
    global _process
    _process = session


@contextmanager
def using(session: Session) -> Iterator[Session]:
    """`session` is in force inside the `with`."""
    token = _local.set(session)
    try:
        yield session
    finally:
        _local.reset(token)


@contextmanager
def sharing(session: Session) -> Iterator[Session]:
    """`using`, for the threads that are started inside as well."""
    _open.append(session)
    try:
        with using(session):
            yield session
    finally:
        _open.remove(session)


@contextmanager
def machine(name: str) -> Iterator[None]:
    """`with blockstep.machine("step"):` runs launches on that machine.

    Raises ValueError for an unknown name."""
    if name not in MACHINES:
        raise ValueError(f"no machine is called {name!r}; there are {', '.join(MACHINES)}")
    session = current()
    with using(replace(session, options=replace(session.options, machine=name))):
        yield


@contextmanager
def unjudged() -> Iterator[None]:
    """Launches inside run on the same machine, and nothing that they do is judged."""
    with using(make(replace(current().options, judged=False))):
        yield


@contextmanager
def excusing(*errors: type[BaseException]) -> Iterator[None]:
    """Launches inside may end in one of these errors, and are not blamed for it."""
    token = excused.set(errors)
    try:
        yield
    finally:
        excused.reset(token)


def finish(session: Session) -> None:
    """Judges what can only be judged when nothing more will be launched."""
    session.outputs.judge()

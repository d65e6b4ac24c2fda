"""Running a launch that was accepted on the step machine, and what an exception or a deadlock becomes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from blockstep import diagnostics
from blockstep.errors import TritonError, UnsupportedError
from blockstep.findings import CompileFault, Event, UnsupportedUse, Waiter
from blockstep.findings import Deadlock as DeadlockFound
from blockstep.interp import breakpoints
from blockstep.interp.events import Launched, hooks
from blockstep.interp.scheduler import Deadlock, Program
from blockstep.interp.step import StepMachine
from blockstep.language import frames
from blockstep.language import op as language_op
from blockstep.language.complaint import as_language_error
from blockstep.language.descriptor import host_descriptor
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple
from blockstep.runtime import progress, session
from blockstep.runtime.arguments import Argument, Bound


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Values of a kernel hold no cycles: looking for some only costs time while it runs."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def execute(
    machine: StepMachine, body: Callable[..., Any], bound: Bound, current: session.Session
) -> None:
    __tracebackhide__ = True
    _announce(machine, current)
    token = language_op.machine.set(machine)
    shown = progress.Progress(machine) if current.options.progress else None
    try:
        values = {a.name: value_of(a) for a in bound.arguments}
        for hook in hooks(machine.checkers, "argument"):
            for name, value in values.items():
                hook(name, value)
        instance = _instance(machine, body, values, shown, current)
        with np.errstate(all="ignore"), _collector_paused():
            machine.scheduler.run(instance)
    except Deadlock as deadlock:
        _report_deadlock(machine, deadlock)
    except BaseException as error:
        shown_error = as_language_error(error)
        _explain(machine, shown_error, current)
        if shown_error is error:
            raise
        raise shown_error from error
    finally:
        language_op.machine.reset(token)
        if shown is not None:
            shown.close()
    for checker in machine.checkers:
        checker.launch_end()


def _announce(machine: StepMachine, current: session.Session) -> None:
    if machine.judge is None:
        return
    launched = Launched(
        machine.judge, machine.kernel, machine.grid, machine.space, machine.host, machine.launch,
        machine.scheduler.seed, current.options.programs is None, machine.unread,
    )  # fmt: skip
    for checker in machine.checkers:
        checker.launch(launched)


def _instance(
    machine: StepMachine,
    body: Callable[..., Any],
    values: dict[str, Any],
    shown: progress.Progress | None,
    current: session.Session,
) -> Callable[[Program], object]:
    """The function that runs one program instance."""
    begin = hooks(machine.checkers, "instance")
    end = hooks(machine.checkers, "instance_end")
    on_instance = current.on_instance

    def instance(program: Program) -> None:
        machine.pending = []
        for hook in begin:
            hook(program)
        if on_instance is not None:
            on_instance(machine.kernel, body.__code__, program)
        body(**values)
        for hook in end:
            hook(program)
        if shown is not None:
            shown.step()

    return instance


def _explain(machine: StepMachine, error: BaseException, current: session.Session) -> None:
    excused = session.excused.get()
    if (
        isinstance(error, TritonError)
        and machine.judge is not None
        and not isinstance(error, excused)
    ):
        site = frames.blamed(error)
        if site is not None:
            message = getattr(error, "error_message", None) or str(error)
            where = machine.context(site)
            where["span"] = getattr(error, "span", None) or where["span"]
            if isinstance(error, UnsupportedError):
                event: Event = UnsupportedUse(**where, what=message)
            else:
                event = CompileFault(**where, message=message)
            diagnostics.record(current.report, event)
    breakpoints.leave_kernel(error, machine.kernel, machine.scheduler.program, machine.grid)


def _report_deadlock(machine: StepMachine, deadlock: Deadlock) -> None:
    """A deadlock is a finding; without a judge it stays an exception."""
    if machine.judge is None:
        raise deadlock
    waiters = []
    for waiting in deadlock.waiting[:16]:
        storage = machine.space.find(waiting.address)
        view = (
            next((v for v in storage.views if waiting.address in range(*v.extent())), None)
            if storage
            else None
        )
        element = view.element(waiting.address) if view is not None else None
        span = frames.span_of_key(waiting.site)
        waiters.append(Waiter(waiting.program, span, view.name if view else None, element))
    first = waiters[0]
    scheduler = machine.scheduler
    machine.judge(
        DeadlockFound(
            span=first.span,
            kernel=machine.kernel,
            program=first.program,
            grid=machine.grid,
            host=machine.host,
            launch=machine.launch,
            waiters=tuple(waiters),
            waiting=len(deadlock.waiting),
            finished=scheduler.finished,
            not_started=scheduler.total - scheduler.finished - len(deadlock.waiting),
        )  # fmt: skip
    )


def value_of(argument: Argument) -> Any:
    """What the kernel's parameter holds."""
    if argument.kind == "constexpr":
        return argument.value
    if argument.kind == "scalar":
        result = tensor(argument.type.numpy.type(argument.value), argument.type)
        if argument.type.is_int():
            result.bounds = (int(argument.value), int(argument.value))
        return result
    if argument.kind == "pointer":
        assert argument.view is not None
        pointer = tensor(np.int64(argument.view.base), argument.type)
        pointer.origin = argument.view
        return pointer
    if argument.kind == "tuple":
        return tl_tuple([value_of(item) for item in argument.items], argument.type)
    assert argument.view is not None
    base = tensor(np.int64(argument.view.base), _element_pointer(argument))
    base.origin = argument.view
    return host_descriptor(argument.value, base)


def _element_pointer(argument: Argument) -> Any:
    from blockstep.language.types import pointer_type

    assert argument.view is not None
    return pointer_type(argument.view.dtype)

"""One launch: bind the arguments, check the grid, run every program instance, file what was found.

Invariant: nothing of the kernel runs before its arguments, its launch options, its grid and its
source were accepted. An exception inside the kernel leaves as itself, with the program instance
noted; what the kernel wrote until then is in the caller's arrays.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep import diagnostics, knobs, target
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.frontend.cache import key_of
from blockstep.compiler.frontend.kernel import NEEDS_STEP, NotPassed
from blockstep.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    TritonError,
    UnsupportedError,
    UnsupportedLanguageConstruct,
)
from blockstep.findings import (
    CompileFault,
    Event,
    GridLimit,
    LaunchRecord,
    Span,
)
from blockstep.interp import breakpoints
from blockstep.interp.checkers import checkers_for
from blockstep.interp.events import Launched
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.grid.plan import Refused
from blockstep.interp.marks import KIND_OF
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.interp.step import StepMachine
from blockstep.language import frames
from blockstep.language.function import JITFunction, register_launcher
from blockstep.runtime import children, execution, gridded, orders, session
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.compiled import CompiledKernel, check_resources, specialization
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.host_arrays import InPlace, refuse_host_tensors
from blockstep.runtime.gpu.selection import MACHINE, check_choice, may_want, wants_gpu
from blockstep.runtime.gpu.shortcut import Shortcut
from blockstep.runtime.launch_options import OPTIONS, check_options, split_options
from blockstep.runtime.refusal import CallError


def launch(
    function: JITFunction, args: tuple[Any, ...], kwargs: dict[str, Any], *, grid: Any, warmup: bool
) -> CompiledKernel:
    """Runs `function` over `grid`. With `warmup`, only checks what a launch would check."""
    __tracebackhide__ = True
    options, named = split_options(kwargs, function)
    options["debug"] = kwargs.get("debug", function.debug) or knobs.runtime.debug
    for hook in function.pre_run_hooks:
        hook(*args, **kwargs)
    host = _host_span()
    current = session.current()
    on_gpu = may_want(current)
    if on_gpu:
        check_choice(current)
    place = InPlace() if on_gpu else None
    take = functools.partial(
        bind, function.params, args, named,
        kernel=function.__name__, passed_at=host, options=OPTIONS,
    )  # fmt: skip
    bound = take(devices=place)
    check_options(options)
    if on_gpu and wants_gpu(bound, current):
        if current.options.machine != MACHINE:
            refuse_host_tensors(bound)
        return _on_gpu(function, bound, options, args, kwargs, None if warmup else grid)
    if place is not None and place.storages:  # an interpreting machine has to have the bytes
        bound = take()
    name = _name(function, bound)
    handle = CompiledKernel(function, options, name, 32 * options["num_warps"])
    if warmup:
        _body(function, bound, options, current, host)
        _compile_all(function, bound, options["num_warps"])
        return handle
    size = grid_size(grid, bound)
    check_resources(options)
    handle.load()
    told = handle.launch_metadata(size, bound.values)
    knobs.runtime.launch_enter_hook(told)
    _run(function, bound, size, options, host, current)
    knobs.runtime.launch_exit_hook(told)
    return handle


def _name(function: JITFunction, bound: Bound) -> str:
    """The name under which profilers know the kernel."""
    return (
        function.repr(specialization(function, bound)) if function.has_repr else function.__name__
    )


def _on_gpu(
    function: JITFunction,
    bound: Bound,
    options: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    grid: Any,
) -> CompiledKernel:
    """The launch (without a grid: what precedes one) on the gpu machine."""
    device = gpu.machine()
    prepared = device.prepare(function, bound, options, _name(function, bound))
    handle = prepared.handle
    if grid is None:
        return handle
    size = grid_size(grid, bound)
    handle.load()
    told = handle.launch_metadata(size, bound.values)
    knobs.runtime.launch_enter_hook(told)
    device.launch(prepared, bound, size)
    knobs.runtime.launch_exit_hook(told)
    Shortcut.of(function, device.faults).add(args, kwargs, bound, prepared)
    return handle


def _front_end(function: JITFunction, bound: Bound, num_warps: int) -> None:
    """What a compiler's front end alone can see (branches or loops that change a variable's type, a
    name that one path leaves unbound) is rejected on every machine, before anything runs. What a
    function of the language refuses, it refuses when it is reached, with the user's line."""
    excused = function.device_caches.setdefault("excused", set())
    key = (key_of(bound.arguments), function.prepared.names.identities(), num_warps)
    if key in excused:
        return
    try:
        build_bound(function, bound.arguments, num_warps)
    except (CompilationError, UnsupportedError) as error:
        if not _is_structural(error):
            excused.add(key)
            return
        raise


def _compile_all(function: JITFunction, bound: Bound, num_warps: int) -> None:
    """Everything that a compiler rejects, on paths that never run as well."""
    try:
        build_bound(function, bound.arguments, num_warps)
    except UnsupportedLanguageConstruct as error:
        if NEEDS_STEP not in str(error):
            raise


def _is_structural(error: BaseException) -> bool:
    """Whether the front end itself rejects the kernel, not a function of the language in it."""
    while isinstance(error.__cause__, CompilationError):
        error = error.__cause__
    if error.__cause__ is not None or not isinstance(error, CompilationError):
        return False
    if isinstance(error, (CompileTimeAssertionFailure, NotPassed)):
        return False
    return not (isinstance(error, UnsupportedLanguageConstruct) and NEEDS_STEP in str(error))


def _host_span() -> Span | None:
    frame = frames.user_frame(2)
    return None if frame is None else frames.user_site(2).span


def _body(
    function: JITFunction,
    bound: Bound,
    options: dict[str, Any],
    current: session.Session,
    host: Span | None,
) -> Any:
    """The function to run. Raises CompilationError for what the language certainly rejects."""
    constants = {a.name: a.value for a in bound.arguments if a.kind == "constexpr"}
    runtime = frozenset(a.name for a in bound.arguments if a.kind in ("scalar", "pointer"))
    try:
        function.prepared.check(constants, runtime)
        _front_end(function, bound, options["num_warps"])
        return function.body
    except TritonError as error:
        _file_compile_fault(error, function, current, host)
        raise


def _file_compile_fault(
    error: TritonError, function: JITFunction, current: session.Session, host: Span | None
) -> None:
    """The finding stands at the innermost expression, with the calls that led there."""
    callers: list[Span] = []
    inner: BaseException = error
    while isinstance(cause := inner.__cause__, CompilationError) and cause.span is not None:
        if isinstance(inner, CompilationError) and inner.span is not None:
            callers.insert(0, inner.span)
        inner = cause
    span = getattr(inner, "span", None)
    if current.options.judged and span is not None:
        text = str(getattr(inner, "error_message", "") or inner)
        event = CompileFault(
            span=span, kernel=function.__name__, host=host, message=text, callers=tuple(callers)
        )
        diagnostics.record(current.report, event)


def grid_size(grid: Any, bound: Bound) -> Program:
    """The grid as three positive numbers.

    Raises CallError for another number of axes, and for sizes that are no positive integers."""
    if callable(grid):
        try:
            grid = grid(bound.values)
        except KeyError as error:
            error.add_note(f"the grid function is given the arguments: {', '.join(bound.values)}")
            raise
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        grid = (grid,)
    if not isinstance(grid, (tuple, list)) or not 1 <= len(grid) <= 3:
        raise CallError(
            "grid", f"the grid {grid!r} must be 1 to 3 sizes", fix="kernel[(x, y, z)](...)"
        )
    sizes = []
    for axis, n in zip("xyz", grid, strict=False):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            fix = "use integer division (triton.cdiv(n, BLOCK) or //)"
            raise CallError("grid", f"the grid's {axis} is {n!r}, not an integer", fix=fix)
        if int(n) <= 0:
            fix = "launch only when there is work, e.g. if n > 0"
            raise CallError("grid", f"the grid's {axis} is {int(n)}: no program instance", fix=fix)
        sizes.append(int(n))
    sizes += [1] * (3 - len(sizes))
    return sizes[0], sizes[1], sizes[2]


@dataclass(slots=True, eq=False)
class _Judge:
    """Files the events of one launch."""

    current: session.Session

    def __call__(self, event: Event) -> None:
        diagnostics.record(self.current.report, event)


def _run(
    function: JITFunction,
    bound: Bound,
    grid: Program,
    options: dict[str, Any],
    host: Span | None,
    current: session.Session,
) -> None:
    __tracebackhide__ = True
    breakpoints.install()
    chosen = current.options
    name = function.__name__
    if chosen.judged:
        record = current.report.begin_launch(name, grid, "step", host)
    else:  # nobody will ask: a program that launches for days must not remember each launch
        record = LaunchRecord(name, grid)
    judged = chosen.judged and current.report.filters.judges(name, record.number)
    judge = _Judge(current) if chosen.judged else None  # the report drops what is filtered out
    device = target.current()
    body = _body(function, bound, options, current, host)
    breakpoints.register(body.__code__)
    if judge is not None and not _fits(grid, device, judge, name, host, record.number):
        return
    plan = _Plan(function, body, bound, grid, options, host, current, judge, record.number)
    started = time.perf_counter()
    try:
        if judged and chosen.seeds > 1 and current.report.wants("order"):
            record.programs = orders.try_orders(plan, chosen.seed, chosen.seeds)
        else:
            record.programs = plan.run(chosen.seed)
    finally:
        bound.finish()
        record.seconds = time.perf_counter() - started
        record.machine, record.because = plan.machine, plan.because or ""
        if current.file is not None:
            children.save(current)


@dataclass(slots=True, eq=False)
class _Plan:
    """A launch that was accepted and can be run, under any seed."""

    function: JITFunction
    body: Callable[..., Any]
    bound: Bound
    grid: Program
    options: dict[str, Any]
    host: Span | None
    current: session.Session
    judge: _Judge | None
    number: int

    machine: str = "step"  # the one that ran it
    because: str | None = None  # why not the grid machine

    @property
    def kernel(self) -> str:
        return self.function.__name__

    def run(self, seed: int) -> int:
        """Runs every program instance; how many finished."""
        __tracebackhide__ = True
        chosen = self.current.options
        sanitize = bool(self.options["debug"] and self.options["sanitize_overflow"])
        self.because = gridded.needs_step(self.current)
        if sanitize and self.because is None:
            self.because = "`debug=True` stops at the first overflow"
        if self.because is None and self._on_grid(seed):
            self.machine = "grid"
            return self.grid[0] * self.grid[1] * self.grid[2]
        scheduler = Scheduler(self.grid, seed=seed, only=chosen.programs)
        report = self.current.report
        judged = self.judge is not None and report.filters.judges(self.kernel, self.number)
        follows = judged and report.wants("precision")
        machine = (FollowedMachine if follows else StepMachine)(
            self.kernel, self.grid, self.bound.space, scheduler, target.current(),
            self.options["num_warps"], (), self.judge, self.host, self.number,
            _watched(self.current) if judged or self.current.on_instance else frozenset(),
            sanitize,
        )  # fmt: skip
        if self.judge is not None:
            wants = report.wants if judged else _nothing
            machine.checkers = checkers_for(wants, self.current.outputs)
        execution.execute(machine, self.body, self.bound, self.current)
        return scheduler.finished

    def _on_grid(self, seed: int) -> bool:
        report = self.current.report
        judged = self.judge is not None and report.filters.judges(self.kernel, self.number)
        judge = self.judge or (lambda event: None)
        launched = Launched(
            judge, self.kernel, self.grid, self.bound.space, self.host, self.number, seed, True
        )
        warps = self.options["num_warps"]
        try:
            gridded.run(self.function, self.bound, launched, self.current, judged, warps)
        except Refused as refusal:
            self.because = str(refusal)
            return False
        return True


def _nothing(kind: str) -> bool:
    """What is wanted of a launch that the filters leave out: it only runs safely."""
    return False


def _watched(current: session.Session) -> frozenset[str]:
    return frozenset(m for m, kind in KIND_OF.items() if current.report.wants(kind))


def _fits(
    grid: Program,
    device: target.Target,
    judge: _Judge,
    name: str,
    host: Span | None,
    number: int,
) -> bool:
    """Reports a grid past the device's limits; such a launch does not run."""
    total = grid[0] * grid[1] * grid[2]
    limit = device.grid_product_limit
    over = [i for i in range(3) if grid[i] > device.grid_limits[i]]
    if not over and (limit is None or total <= limit):
        return True
    axis = over[0] if over else -1
    size, most = (grid[axis], device.grid_limits[axis]) if over else (total, limit or 0)
    judge(
        GridLimit(
            span=host or Span("", 0),
            kernel=name,
            grid=grid,
            host=host,
            launch=number,
            axis=axis,
            size=size,
            limit=most,
            device=device.title,
        )  # fmt: skip
    )
    return False


register_launcher(launch)

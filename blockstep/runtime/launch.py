"""One launch: bind the arguments, check the grid, run every program instance, file what was found.

Invariant: nothing of the kernel runs before its arguments, its launch options, its grid and its
source were accepted. An exception inside the kernel leaves as itself, with the program instance
noted; what the kernel wrote until then is in the caller's arrays.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from blockstep import knobs, target
from blockstep.errors import TritonError
from blockstep.findings import LaunchRecord, Span
from blockstep.interp import breakpoints
from blockstep.interp.scheduler import Program
from blockstep.language import frames
from blockstep.language.function import JITFunction, register_launcher
from blockstep.options import PTX
from blockstep.runtime import children, held, orders, session
from blockstep.runtime.accepting import body_of, compile_all, file_fault
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.capture import capturing
from blockstep.runtime.compiled import CompiledKernel, check_resources, specialization
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.host_arrays import InPlace, refuse_host_tensors
from blockstep.runtime.gpu.selection import MACHINE, check_choice, may_want, wants_gpu
from blockstep.runtime.gpu.shortcut import Shortcut
from blockstep.runtime.launch_options import OPTIONS, check_options, split_options
from blockstep.runtime.plan import Judge, Plan, fits
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
    size = None if warmup else grid_size(grid, bound)
    if current.options.machine == PTX:
        handle: CompiledKernel = _for_ptx(function, bound, options, name, size, current, host)
    else:
        handle = CompiledKernel(function, options, name, 32 * options["num_warps"])
    if size is None:
        body_of(function, bound, options, current, host)
        compile_all(function, bound, options["num_warps"])
        return handle
    check_resources(options)
    handle.load()
    told = handle.launch_metadata(size, bound.values)
    knobs.runtime.launch_enter_hook(told)
    _run(
        function, args, kwargs, bound, size, options, host, current,
        getattr(handle, "binary", None),
    )  # fmt: skip
    knobs.runtime.launch_exit_hook(told)
    return handle


def _for_ptx(
    function: JITFunction,
    bound: Bound,
    options: dict[str, Any],
    name: str,
    grid: Program | None,
    current: session.Session,
    host: Span | None,
) -> CompiledKernel:
    """The kernel, compiled; what the compiler refuses is a finding at the user's line, too."""
    from blockstep.runtime.ptx import machine as ptx  # half of what `import blockstep` would take

    ptx.check_choice(current)
    try:
        return ptx.prepare(function, bound, options, name)
    except TritonError as error:
        if not isinstance(error, session.excused.get()):
            if current.options.judged and grid is not None:
                current.report.begin_launch(function.__name__, grid, PTX, host)
            file_fault(error, function, current, host)
        raise


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


def _host_span() -> Span | None:
    frame = frames.user_frame(2)
    return None if frame is None else frames.user_site(2).span


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


def _run(
    function: JITFunction,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    bound: Bound,
    grid: Program,
    options: dict[str, Any],
    host: Span | None,
    current: session.Session,
    binary: Binary | None,
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
    judge = Judge(current) if chosen.judged else None  # the report drops what is filtered out
    device = target.current()
    body = body_of(function, bound, options, current, host)
    breakpoints.register(body.__code__)
    if judge is not None and not fits(grid, device, judge, name, host, record.number):
        return
    plan = Plan(function, body, bound, grid, options, host, current, judge, record.number, binary)
    started = time.perf_counter()
    report = current.report if judged else None
    try:
        with (
            held.held(
                function, args, kwargs, grid, host, record.number, bound.space, report, chosen.seed
            ),
            capturing(plan if judged else None, args, kwargs),
        ):
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


register_launcher(launch)

"""A launch on the ptx machine: our compiler's PTX of the kernel runs on NumPy, and no GPU is needed.

`BLOCKSTEP_MACHINE=ptx`, `--machine ptx` or `blockstep.machine("ptx")` choose it; nothing else does.
Arrays of the host are used in place.

Invariant: what cannot be compiled, or has no meaning on this machine, is `unsupported`; no launch
goes to another machine instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blockstep import knobs, target
from blockstep.errors import OutOfBoundsError, ReadOnlyError, UnsupportedError
from blockstep.findings import AssertFailed, Event, Lanes, Span, UnsupportedUse
from blockstep.interp.events import Launched
from blockstep.interp.ptx.batch import Watcher
from blockstep.interp.ptx.faults import Fault, NotSupported, Report, Trap
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound
from blockstep.runtime.compiled import Code, CompiledKernel
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.compiling import compile_for_ptx
from blockstep.runtime.gpu.failures import GRID_HELP, SHARED_HELP, DoesNotFit
from blockstep.runtime.gpu.faults import KernelAssertion, Record
from blockstep.runtime.gpu.selection import code_for
from blockstep.runtime.ptx.failures import STOPS, PTXFault
from blockstep.runtime.ptx.judging import events_of, span_of
from blockstep.runtime.ptx.running import run_binary
from blockstep.runtime.session import Session


class PTXKernel(CompiledKernel):
    """A kernel compiled for the ptx machine. Shared memory is what the code asks for; registers are
    a nominal figure, since nothing assembles the code."""

    def __init__(self, src: Any, options: dict[str, Any], name: str, binary: Binary) -> None:
        super().__init__(src, options, name, target.current().threads_per_block)
        self.binary = binary
        self.asm = Code(binary.asm)
        self.kernel = self.asm["ptx"]
        self.metadata.shared = binary.shared
        self.metadata.num_warps, self.metadata.num_ctas = binary.num_warps, binary.num_ctas

    def load(self) -> None:
        """Tell the hooks around loading, once for each jit function. The text is all there is."""
        if self.src.kernel is None:
            self.src.kernel = self
            start, end = knobs.runtime.kernel_load_start_hook, knobs.runtime.kernel_load_end_hook
            start(self.module, self.function, self.name, {}, self.hash)
            end(self.module, self.function, self.name, {}, self.hash)


def check_choice(current: Session) -> None:
    """Raises UnsupportedError for what the ptx machine does not do."""
    if current.options.programs is not None:
        what, remedy = "runs all program instances", "leave out --machine ptx, or the choice"
    elif current.on_instance is not None:
        what, remedy = (
            "does not stop in a kernel",
            "leave out --machine ptx: the step machine stops",
        )
    elif target.current().backend != "cuda":
        title = target.current().title
        what, remedy = f"runs code for NVIDIA devices, not for {title}", "--target h100"
    else:
        return
    raise UnsupportedError(f"unsupported: the ptx machine {what}\nhelp: {remedy}")


def prepare(function: JITFunction, bound: Bound, options: dict[str, Any], name: str) -> PTXKernel:
    """Compiles the kernel of a launch. Raises CompilationError for what the language rejects,
    UnsupportedError for what cannot be compiled, DoesNotFit for more than the device has."""
    device = target.current()
    binary = code_for(function, bound, options, device, compile_for_ptx).binary
    if binary.shared > device.shared_per_block:
        raise DoesNotFit(
            binary.shared, device.shared_per_block, "shared memory", binary.name, device.title,
            SHARED_HELP,
        )  # fmt: skip
    return PTXKernel(function, options, name, binary)


def run(
    binary: Binary, bound: Bound, launched: Launched, seed: int, judge: Callable[[Event], None] | None,
    judged: bool, watchers: Sequence[Watcher] = (),
) -> None:  # fmt: skip
    """Runs a launch. With a judge, what is wrong are findings; without one the first fault that
    would stop a device is raised: KernelAssertion, OutOfBoundsError, ReadOnlyError, PTXFault.

    Raises NotSupported for an instruction that the machine lacks, DoesNotFit for a grid past the
    device's limits."""
    report = Report()
    assertion = None
    _check_grid(binary, launched.grid)
    _protect(bound)
    try:
        assertion = run_binary(
            binary, bound, launched.grid, seed=seed, judged=judged, watchers=watchers,
            report=report,
        ).assertion  # fmt: skip
    except Trap:  # its fault is in the report
        pass
    except NotSupported as error:
        if judge is not None:
            where = _context(launched, span_of(error.place, launched))
            judge(UnsupportedUse(**where, what=f"unsupported: {error}"))
        raise
    if judge is None:
        _raise(binary, report, assertion)
        return
    if assertion is not None:
        judge(_assertion(binary, launched, assertion))
    for event in events_of(report, launched, binary.num_ctas):
        judge(event)


def _check_grid(binary: Binary, grid: tuple[int, int, int]) -> None:
    device, ctas = target.current(), (binary.num_ctas, 1, 1)
    for axis, n, each, limit in zip("xyz", grid, ctas, device.grid_limits, strict=True):
        if n * each > limit:
            name, most = f"grid {axis}", limit // each
            raise DoesNotFit(n, most, name, binary.name, device.title, GRID_HELP)


def _protect(bound: Bound) -> None:
    """Memory that was passed by read-only arrays alone is not written."""
    for storage in bound.space.storages:
        if storage.views and not any(view.writeable for view in storage.views):
            storage.readonly = True


def _context(launched: Launched, span: Span) -> dict[str, Any]:
    return {
        "span": span, "kernel": launched.kernel, "grid": launched.grid,
        "host": launched.host, "launch": launched.number,
    }  # fmt: skip


def _assertion(binary: Binary, launched: Launched, record: Record) -> AssertFailed:
    """The finding for a `device_assert`, of which the kernel wrote down the first failure."""
    site = binary.sites[record.site]
    return AssertFailed(
        **_context(launched, site.span), program=(record.x, record.y, record.z),
        message=site.message, lanes=Lanes((), 1),
    )  # fmt: skip


def _raise(binary: Binary, report: Report, assertion: Record | None) -> None:
    if assertion is not None:
        known = 0 <= assertion.site < len(binary.sites)
        site = binary.sites[assertion.site] if known else None
        raise KernelAssertion(binary.name, assertion, site)
    for fault in report.faults:
        if fault.kind in STOPS:
            raise _error(binary.name, fault)


def _error(kernel: str, fault: Fault) -> Exception:
    if fault.what == "read-only memory":
        return ReadOnlyError(f"`{kernel}`: {fault}")
    if fault.kind == "out-of-bounds":
        return OutOfBoundsError(
            f"`{kernel}`: {fault}; `blockstep check` without --machine ptx says which elements "
            "and why"
        )
    return PTXFault(kernel, fault)

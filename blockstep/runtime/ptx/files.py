"""PTX from a file on the ptx machine: which kernel, how many threads, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blockstep import diagnostics
from blockstep.findings import Report
from blockstep.interp.events import Launched
from blockstep.interp.memory import AddressSpace
from blockstep.interp.ptx import faults, layout
from blockstep.interp.ptx.batch import Watcher
from blockstep.interp.ptx.decode import Program, decoded
from blockstep.interp.ptx.machine import run_ptx
from blockstep.interp.ptx.parser import parse
from blockstep.runtime.ptx.given import Given
from blockstep.runtime.ptx.judging import events_of

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a file, decoded."""

    file: Path
    text: str
    program: Program

    @property
    def name(self) -> str:
        """Its entry point."""
        return self.program.entry.name

    @property
    def widths(self) -> list[int]:
        """The bytes of each parameter."""
        return [layout.nbytes(variable) for variable, _ in self.program.layout.parameters]

    @property
    def described(self) -> str:
        """The parameters, as one who passes arguments wants to know them."""
        found = []
        for variable, _ in self.program.layout.parameters:
            size = layout.nbytes(variable)
            shown = variable.type if variable.count == 1 else f"{size} bytes"
            found.append(f"{variable.name} ({shown})")
        return ", ".join(found) or "none"

    @property
    def wants_shared(self) -> bool:
        """Whether the launch says how much shared memory there is."""
        variables = [*self.program.module.variables, *self.program.entry.variables]
        return any(v.space == "shared" and v.count is None for v in variables)

    def block(self) -> Dim3 | None:
        """The threads of a CTA, where the text says it."""
        told = self.program.entry.directives.get("reqntid")
        return None if told is None else dim3(told)

    def cluster(self) -> Dim3:
        """The CTAs of a cluster that the text asks for."""
        return dim3(self.program.entry.directives.get("reqnctapercluster", (1,)))


def kernel_of(file: Path, entry: str | None) -> Kernel:
    """The kernel of a file; without a name, the only one. Raises ValueError where there is none of
    that name, or several; Malformed and NotSupported, with the line."""
    text = file.read_text()
    entries = parse(text).entries
    if entry is None and len(entries) != 1:
        raise ValueError(f"{file} has {len(entries)} kernels: --entry {'|'.join(entries)}")
    if entry is not None and entry not in entries:
        raise ValueError(f"{file} has no kernel {entry}; it has {', '.join(entries) or 'none'}")
    return Kernel(file, text, decoded(text, entry or entries[0]))


def dim3(sizes: Sequence[int]) -> Dim3:
    """Sizes along x, y and z; those that are left out are 1."""
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def run(
    kernel: Kernel, arguments: Sequence[Given], grid: Dim3, block: Dim3, report: Report,
    *, races: bool = True, shared: int = 0, cluster: Dim3 | None = None, seed: int = 0,
    watchers: Sequence[Watcher] = (),
) -> faults.Report:  # fmt: skip
    """Runs a kernel on the memory of its arguments. What is wrong goes into `report`; without
    `races` none are looked for in shared memory. A trap ends the launch and is a fault like others.

    Raises NotSupported, and ValueError for a grid that its clusters do not fill."""
    space = AddressSpace()
    for given in arguments:
        if given.array is not None:
            space.add_array(given.array, given.name)
    found = faults.Report()
    started = time.perf_counter()
    try:
        run_ptx(
            kernel.text, kernel.name, grid, block, [a.value for a in arguments], shared=shared,
            cluster=cluster or (), seed=seed, space=space, judged=races,
            watchers=watchers, report=found,
        )  # fmt: skip
    except faults.Trap:
        pass
    record = report.begin_launch(kernel.name, grid, "ptx")
    record.seconds, record.programs = time.perf_counter() - started, grid[0] * grid[1] * grid[2]
    launched = Launched(lambda event: None, kernel.name, grid, space, None, record.number, seed)
    for event in events_of(found, launched, text_of=str(kernel.file)):
        diagnostics.record(report, event)
    return found

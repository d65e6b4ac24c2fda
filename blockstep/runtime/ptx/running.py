"""A launch on the ptx machine: compiled code of one kernel, run over its grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockstep.interp.ptx.faults import Report, Trap
from blockstep.interp.ptx.machine import run_ptx
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.faults import Record
from blockstep.runtime.ptx.arguments import arguments_for

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a launch: what the machine found, and the `device_assert` that did not hold
    (as the kernel wrote it down), if one did not."""

    report: Report
    assertion: Record | None


def run_binary(binary: Binary, bound: Bound, grid: Grid, **options: Any) -> Ran:
    """Runs a kernel's PTX on the memory of its bound arguments; `options` are `run_ptx`'s.

    Raises NotSupported for an instruction that the machine lacks, Trap where the kernel cannot go
    on and no `device_assert` says why."""
    text = binary.asm.get("ptx", binary.image)
    if not isinstance(text, str):
        raise TypeError(f"{binary.name}: there is no PTX text to run")
    x, y, z = grid
    arguments, record = arguments_for(binary, bound, grid)
    report = options.pop("report", None) or Report()
    try:
        run_ptx(
            text, binary.name, (x * binary.num_ctas, y, z), (binary.threads,), arguments,
            shared=binary.shared, cluster=binary.cluster_shape, space=bound.space, report=report,
            **options,
        )  # fmt: skip
    except Trap:
        if record is None or not record[0]:
            raise
    failed = record is not None and record[0]
    return Ran(report, Record(*record.tolist()) if failed else None)

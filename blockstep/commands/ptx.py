"""`blockstep ptx FILE.ptx`: PTX from a file, run and judged on the ptx machine.

Exit status: 0 clean, 1 an error was found, 2 the text cannot be run or the command line was wrong.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from blockstep.commands.command import Command
from blockstep.commands.judging import add_report, names, tell
from blockstep.errors import UnsupportedError
from blockstep.findings import Filters, Report, Severity
from blockstep.interp.ptx.traffic import Traffic
from blockstep.runtime.ptx import files
from blockstep.runtime.ptx.files import Dim3, Kernel
from blockstep.runtime.ptx.given import Given, arguments_from
from blockstep.runtime.ptx.profiling import KernelProfile

EDGE = 3  # elements of each end that --print shows of a long axis


def add_launch(sub: argparse.ArgumentParser) -> None:
    """The arguments that say what a kernel of a file is launched with."""
    sub.add_argument("--entry", metavar="NAME", help="the kernel; the only one, if left out")
    sub.add_argument("--grid", metavar="X[,Y,Z]", help="CTAs (default: 1)", default="1")
    sub.add_argument("--block", metavar="N[,Y,Z]", help="threads of a CTA (default: .reqntid)")
    sub.add_argument("--shared", metavar="BYTES", type=int, help="dynamic shared memory of a CTA")
    sub.add_argument("--cluster", metavar="X[,Y,Z]", help="CTAs of a cluster")
    sub.add_argument("--seed", type=int, default=0, help="the order of waiting CTAs")
    sub.add_argument("--data", type=int, default=0, metavar="SEED", help="seed of random contents")
    sub.add_argument(
        "--args", nargs="*", default=[], metavar="ARG",
        help="f32[1024]=randn, y:f32[64,64]=empty, @file.npy, n=1000, null",
    )  # fmt: skip


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("file", help="PTX text")
    add_launch(sub)
    sub.add_argument(
        "--print",
        action="append",
        default=[],
        metavar="NAME",
        help="print this argument afterwards",
    )
    sub.add_argument(
        "--save", action="append", default=[], metavar="NAME=FILE.npy", help="write it to a file"
    )
    sub.add_argument("--unjudged", action="store_true", help="look for no races, tell faults only")
    sub.add_argument("--only", metavar="NAMES", help="judge only these checkers or kinds (a,b)")
    sub.add_argument("--skip", metavar="NAMES", help="leave these checkers or kinds out")
    add_report(sub)


def launch_of(told: Any) -> tuple[Kernel, list[Given], Dim3, Dim3]:
    """The kernel of a file with its arguments, grid and threads. Raises ValueError for what cannot
    be launched."""
    kernel = files.kernel_of(Path(told.file), told.entry)
    try:
        given = arguments_from(told.args, kernel.widths, told.data)
    except ValueError as error:
        raise ValueError(f"{error}\nthe parameters of {kernel.name}: {kernel.described}") from None
    block = _dim3(told.block, "--block") if told.block else kernel.block()
    if block is None:
        raise ValueError("the PTX does not say how many threads a CTA has: --block 128")
    if kernel.wants_shared and told.shared is None:
        raise ValueError("the kernel has dynamic shared memory: --shared BYTES")
    return kernel, given, _dim3(told.grid, "--grid"), block


def profile(told: Any) -> KernelProfile:
    """What a launch costs, by line. Raises ValueError for what cannot be launched."""
    kernel, given, grid, block = launch_of(told)
    traffic = Traffic()
    _run(told, kernel, given, grid, block, Report(), races=False, watchers=[traffic])
    made = KernelProfile(kernel.name, 1)
    made.add(traffic, str(kernel.file))
    return made


def _run(
    told: Any, kernel: Kernel, given: list[Given], grid: Dim3, block: Dim3, report: Report,
    **options: Any,
) -> None:  # fmt: skip
    cluster = _dim3(told.cluster, "--cluster") if told.cluster else None
    files.run(
        kernel, given, grid, block, report, shared=told.shared or 0, cluster=cluster,
        seed=told.seed, **options,
    )  # fmt: skip


def _ptx(told: Any) -> int:
    report = Report(
        filters=Filters(names(told.only), names(told.skip) or frozenset()),
        fail_on=Severity(told.fail_on),
    )
    try:
        kernel, given, grid, block = launch_of(told)
        outputs = _outputs(told, given)
        _run(told, kernel, given, grid, block, report, races=not told.unjudged)
    except (UnsupportedError, TypeError) as error:
        raise ValueError(str(error)) from None
    for array, file in outputs:
        if file is not None:
            np.save(file, array)
    for name in told.print:
        _show(name, _named(name, given))
    tell(report, told)
    return report.exit_code()


def _outputs(told: Any, given: list[Given]) -> list[tuple[Any, str | None]]:
    """What is to be printed or saved; a name that is none is said before anything runs."""
    found: list[tuple[Any, str | None]] = [(_named(name, given), None) for name in told.print]
    for word in told.save:
        name, equals, file = word.partition("=")
        if not equals:
            raise ValueError(f"--save is NAME=FILE.npy, not {word!r}")
        found.append((_named(name, given), file))
    return found


def _named(name: str, given: list[Given]) -> Any:
    arrays = {g.name: g.array for g in given if g.array is not None}
    arrays.update({str(i): g.array for i, g in enumerate(given) if g.array is not None})
    if name not in arrays:
        known = ", ".join(g.name for g in given if g.array is not None) or "none"
        raise ValueError(f"no array argument is called {name}; there are {known}")
    return arrays[name]


def _show(name: str, array: Any) -> None:
    text = np.array2string(array, threshold=64, edgeitems=EDGE, precision=6)
    print(f"{name} {array.dtype}{list(array.shape)}\n{text}")


def _dim3(text: str, option: str) -> Dim3:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise ValueError(f"{option} is X, X,Y or X,Y,Z, not {text!r}")
    sizes = files.dim3([int(part) for part in parts])
    if 0 in sizes:
        raise ValueError(f"{option} {text}: a size is at least 1")
    return sizes


PTX = Command(
    "ptx",
    "run PTX from a file on the ptx machine, with the checkers on; exit 1 if there is an error",
    _arguments,
    _ptx,
    script=False,
)

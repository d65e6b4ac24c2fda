"""A launch of the language, compiled by our compiler and run by the ptx machine.

`outcomes()`: every launch inside also runs so, on copies of its arguments, and is compared with what
the launch itself leaves in memory.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockstep.interp.ptx.machine import Report
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.compiling import compile_for_ptx
from blockstep.runtime.launch import grid_size
from blockstep.runtime.launch_options import OPTIONS, split_options
from blockstep.runtime.ptx.running import run_binary
from tests.agreement.agree import copies
from tests.ops.kernels import bits, distance


@dataclass(slots=True)
class Compiled:
    """A kernel with the arguments that it was compiled for, ready to run."""

    binary: Binary
    text: str
    bound: Bound
    grid: tuple[int, int, int]

    def run(self, **options: Any) -> Report:
        """Runs it on the arguments' own memory."""
        binary = replace(self.binary, asm={"ptx": self.text})
        return run_binary(binary, self.bound, self.grid, **options).report


def compiled(
    function: Any, args: Any, kwargs: Any, grid: Any, target: str = "sm_90a", exact: bool = True
) -> Compiled:
    """The kernel, compiled for these arguments."""
    options, named = split_options(kwargs, function)
    bound = bind(
        function.params, args, named, kernel=function.__name__, passed_at=None, options=OPTIONS
    )
    options["debug"] = bool(kwargs.get("debug", function.debug))
    options["arch"], options["enable_fp_fusion"] = target, not exact
    binary = compile_for_ptx(function, bound, options)
    return Compiled(binary, str(binary.asm["ptx"]), bound, grid_size(grid, bound))


@dataclass(slots=True)
class Outcome:
    """What the ptx machine made of a launch: `error` is empty where it ran and agreed."""

    kernel: str
    error: str
    faults: tuple[Any, ...] = ()
    text: str = ""


@contextmanager
def outcomes(into: list[Outcome] | None = None, **options: Any) -> Iterator[list[Outcome]]:
    """Launches inside also run as PTX; the list takes what became of them."""
    found: list[Outcome] = [] if into is None else into
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if warmup:
            return before(function, args, kwargs, grid=grid, warmup=warmup)
        given = copies([*args, *kwargs.values()])
        named = dict(zip(kwargs, given[len(args) :], strict=True))
        one = _run(function, tuple(given[: len(args)]), named, grid, options)
        result = before(function, args, kwargs, grid=grid, warmup=warmup)
        if not one.error:
            one.error = difference([*args, *kwargs.values()], given)
        found.append(one)
        return result

    with launching(launch):
        yield found


def _run(function: Any, args: Any, kwargs: Any, grid: Any, options: Any) -> Outcome:
    text = ""
    try:
        made = compiled(function, args, kwargs, grid, **options)
        text = made.text
        with contextlib.redirect_stdout(io.StringIO()):
            report = made.run()
    except Exception as error:  # noqa: BLE001  (a test says which errors it allows)
        notes = "; ".join(getattr(error, "__notes__", ()))
        return Outcome(function.__name__, f"{type(error).__name__}: {error} {notes}", (), text)
    return Outcome(function.__name__, "", tuple(report.faults), text)


def arrays_of(arguments: list[Any]) -> list[Any]:
    """The arrays among arguments, in order."""
    found: list[Any] = []
    for one in arguments:
        base = one.base if isinstance(one, TensorDescriptor) else one
        if isinstance(base, np.ndarray):
            found.append(base)
        elif isinstance(base, tuple):
            found += arrays_of(list(base))
    return found


def difference(expected: list[Any], found: list[Any]) -> str:
    """Where two lists of arguments differ in bits; empty where they do not."""
    for n, (a, b) in enumerate(zip(arrays_of(expected), arrays_of(found), strict=True)):
        differs = bits(a) != bits(b)
        if differs.any():
            where = tuple(np.argwhere(differs)[0].tolist())
            return (
                f"argument {n} {a.dtype}{list(a.shape)} at {where}: {a[where]!r} and {b[where]!r}; "
                f"{int(differs.sum())} of {differs.size}; ulps {distance(a[differs], b[differs])}"
            )
    return ""

"""`compiling()`: every launch inside is compiled as the gpu machine would compile it, and then runs.

So whatever launches kernels (rows of operations, examples, cases) also tests the compiler, without
a device. A kernel that two launches compile to the same is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.compiler.compile import Compiled, compile_function
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Options
from blockstep.ir import dump
from blockstep.language.function import JITFunction, current_launcher, launching
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.gpu.compiling import hints_of, options_of
from blockstep.runtime.launch_options import OPTIONS, split_options


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch as its kernel sees it."""

    function: JITFunction
    bound: Bound
    options: Options
    grid: Any


@dataclass(slots=True)
class Seen:
    """What the launches were, and their kernels' code by name and target."""

    launches: list[Launch] = field(default_factory=list)
    codes: dict[tuple[str, str], list[Compiled]] = field(default_factory=dict)
    keys: set[Any] = field(default_factory=set)

    def compile(self, one: Launch, targets: tuple[str, ...]) -> None:
        """Raises what compiling raises."""
        made = build_bound(one.function, one.bound.arguments, one.options.num_warps)
        hints = hints_of(one.bound)
        for target in targets:
            options = replace(one.options, target=target)
            key = dump(made), repr(sorted(hints.items())), options
            if key in self.keys:
                continue
            self.keys.add(key)
            code = compile_function(made, options, hints)
            self.codes.setdefault((one.function.__name__, target), []).append(code)


class Stop(Exception):
    """The launch was compiled, and is not to run."""


@contextmanager
def compiling(*targets: str, runs: bool = True) -> Iterator[Seen]:
    """Compiles the launches inside for each target; without `runs` each of them raises Stop."""
    seen = Seen()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        told, named = split_options(kwargs, function)
        bound = bind(
            function.params, args, named, kernel=function.__name__, passed_at=None, options=OPTIONS
        )
        one = Launch(function, bound, options_of(told, function), grid)
        seen.launches.append(one)
        seen.compile(one, targets)
        if not runs:
            raise Stop
        return before(function, args, kwargs, grid=grid, warmup=warmup)

    with launching(launch):
        yield seen

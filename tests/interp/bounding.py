"""Derived bounds of launches in tests.

`bounded(kernel, grid, *arguments)` are the bounds of a launch that is not made, `varied(…)` the machine
that made it in another legal way, `step(…)` what the step machine leaves. `holds(…)` puts all three
together: the bounds' values are the step machine's, bit for bit, and no legal variation is wrong.
`bounding()` does that for every launch inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import blockstep
from blockstep.compiler.frontend import build_bound
from blockstep.interp.bound import Bounds, Unbounded, Verdict, bound
from blockstep.interp.bounds.handlers import HANDLERS
from blockstep.interp.bounds.rules import Freedom
from blockstep.interp.view import View
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.arguments import bind
from blockstep.runtime.gridded import arguments_of
from tests.agreement.agree import copies
from tests.interp.varied import VariedMachine

Launch = tuple[Any, dict[str, Any], tuple[int, int, int]]


def launched(
    kernel: Any, grid: Any, arguments: Any, named: Mapping[str, Any], options: Any = ()
) -> Launch:
    """Block IR, the arguments by parameter name, and the whole grid."""
    given = bind(kernel.params, arguments, named, kernel=kernel.__name__, options=options)
    function = build_bound(kernel, given.arguments)
    whole = grid(given.values) if callable(grid) else grid
    return function, arguments_of(given), (*whole, 1, 1)[:3]


def bounded(
    kernel: Any, grid: Any, *arguments: Any, exact: bool = False, chain: int | None = None,
    **named: Any,
) -> Bounds:  # fmt: skip
    """Bounds of a launch, which is not made."""
    return bound(*launched(kernel, grid, arguments, named), exact, chain)


def varied(
    kernel: Any, grid: Any, *arguments: Any, seed: int, exact: bool = False,
    chain: int | None = None, **named: Any,
) -> VariedMachine:  # fmt: skip
    """The machine that made the launch in another legal way, on copies."""
    return _varied(launched(kernel, grid, arguments, named), Freedom(exact, chain), seed)


def _varied(launch: Launch, freedom: Freedom, seed: int) -> VariedMachine:
    machine = VariedMachine(*launch, freedom, HANDLERS, seed)
    machine.run()
    return machine


def step(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> list[Any]:
    """Copies of the arguments as the step machine leaves them."""
    given = copies([*arguments, *named.values()])
    keywords = dict(zip(named, given[len(arguments) :], strict=True))
    with blockstep.machine("step"):
        kernel[grid](*given[: len(arguments)], **keywords)
    return given[: len(arguments)]


def wrong(bounds: Bounds, machine: VariedMachine) -> list[Verdict]:
    """The verdicts that call an element wrong."""
    verdicts = [bounds.judge(name, machine.array(name)) for name in bounds.arrays]
    return [v for v in verdicts if v.wrong]


def legal(launch: Launch, bounds: Bounds, seeds: int) -> None:
    """No legal variation is wrong."""
    for seed in range(seeds):
        found = wrong(bounds, _varied(launch, Freedom(), seed))
        assert not found, (seed, found)


@dataclass(slots=True)
class Seen:
    """The launches that were bounded, by kernel, and why others were not."""

    bounds: list[tuple[str, Bounds]] = field(default_factory=list)
    unbounded: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def bounding(seeds: int = 3) -> Iterator[Seen]:
    """Every launch inside is bounded first, and made on the step machine then."""
    seen = Seen()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        if warmup:
            return before(function, args, kwargs, grid=grid, warmup=warmup)
        made = found = None
        try:
            made = launched(function, grid, args, kwargs)
            with np.errstate(all="ignore"):
                found = bound(*made)
                legal(made, found, seeds)
        except Unbounded as error:
            seen.unbounded.append((function.__name__, str(error)))
        with blockstep.machine("step"):
            result = before(function, args, kwargs, grid=grid, warmup=warmup)
        if made is not None and found is not None:
            seen.bounds.append((function.__name__, found))
            _same_as_step(made, found)
        return result

    with launching(launch):
        yield seen


def _same_as_step(made: Launch, bounds: Bounds) -> None:
    for name, array in bounds.arrays.items():
        view = made[1][name]
        verdict = array.judge(_now(view, array.value.dtype))
        # an instance that seems to wait lets others go first on the step machine
        assert verdict.equal + verdict.ordered == verdict.elements, verdict


def _now(view: View, dtype: Any) -> Any:
    """What the argument holds."""
    assert view.storage is not None
    strides = [s * dtype.itemsize for s in view.strides]
    offset = int(view.base) - view.storage.base
    return np.ndarray(view.shape, dtype, view.storage.data, offset, strides).copy()

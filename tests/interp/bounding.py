"""`bounded(kernel, grid, *arguments)`: the derived bounds of one launch; `run` makes the launch."""

from __future__ import annotations

from typing import Any

import blockstep
from blockstep.compiler.frontend import build_bound
from blockstep.interp.bound import Bounds, bound
from blockstep.interp.bounds.rules import Freedom
from blockstep.runtime.arguments import bind
from blockstep.runtime.gridded import arguments_of
from tests.agreement.agree import copies
from tests.interp.varied import VariedMachine


def launched(kernel: Any, grid: Any, arguments: Any, named: Any) -> tuple[Any, Any, Any]:
    """Block IR, the arguments by parameter name, and the whole grid."""
    given = bind(kernel.params, arguments, named, kernel=kernel.__name__)
    function = build_bound(kernel, given.arguments)
    return function, arguments_of(given), (*grid, 1, 1)[:3]


def bounded(kernel: Any, grid: Any, *arguments: Any, exact: bool = False, chain: int | None = None, **named: Any) -> Bounds:
    """Bounds of a launch, which is not made."""
    return bound(*launched(kernel, grid, arguments, named), exact, chain)


def varied(kernel: Any, grid: Any, *arguments: Any, seed: int, exact: bool = False, chain: int | None = None, **named: Any) -> Any:
    """The machine that made the launch in another legal way, on copies."""
    machine = VariedMachine(*launched(kernel, grid, arguments, named), Freedom(exact, chain), seed)
    machine.run()
    return machine


def run(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> list[Any]:
    """Copies of the arguments as the step machine leaves them."""
    given = copies([*arguments, *named.values()])
    keywords = dict(zip(named, given[len(arguments) :], strict=True))
    with blockstep.machine("step"):
        kernel[grid](*given[: len(arguments)], **keywords)
    return given[: len(arguments)]

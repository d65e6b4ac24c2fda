"""`bounded(kernel, grid, *arguments)`: the derived bounds of one launch; `run` makes the launch."""

from __future__ import annotations

from typing import Any

import blockstep
from blockstep.compiler.frontend import build_bound
from blockstep.interp.bound import Bounds, bound
from blockstep.runtime.arguments import bind
from blockstep.runtime.gridded import arguments_of
from tests.agreement.agree import copies


def bounded(kernel: Any, grid: Any, *arguments: Any, exact: bool = False, **named: Any) -> Bounds:
    """Bounds of a launch, which is not made."""
    given = bind(kernel.params, arguments, named, kernel=kernel.__name__)
    function = build_bound(kernel, given.arguments)
    whole = (*grid, 1, 1)[:3]
    return bound(function, arguments_of(given), whole, exact)


def run(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> list[Any]:
    """Copies of the arguments as the step machine leaves them."""
    given = copies([*arguments, *named.values()])
    keywords = dict(zip(named, given[len(arguments) :], strict=True))
    with blockstep.machine("step"):
        kernel[grid](*given[: len(arguments)], **keywords)
    return given[: len(arguments)]

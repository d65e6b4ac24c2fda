"""Kernels compiled and assembled as a launch with these arguments would, without a device."""

from __future__ import annotations

from functools import cache
from typing import Any

from blockstep.compiler.assemble import assemble
from blockstep.compiler.compile import Compiled, compile_function
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Options
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.compiling import hints_of

TARGETS = ("sm_80", "sm_90a")


def compiled(
    kernel: Any,
    arguments: tuple[Any, ...],
    target: str = "sm_90a",
    num_warps: int = 4,
    num_ctas: int = 1,
) -> Compiled:
    """The kernel's code. Raises what compiling or assembling raises."""
    bound = bind(kernel.params, arguments, {}, kernel=kernel.__name__, passed_at=None, options=())
    function = build_bound(kernel, bound.arguments, num_warps)
    options = Options(target=target, num_warps=num_warps, num_ctas=num_ctas)
    made = compile_function(function, options, hints_of(bound))
    _assembled(made.ptx, target)
    return made


@cache
def _assembled(ptx: str, target: str) -> None:
    assemble(ptx, target)

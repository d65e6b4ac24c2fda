"""What fast code costs: approximate instructions, fused multiply-add, flushed subnormals.

The compiler makes the launch both ways, fast and in IEEE arithmetic, and the ptx machine runs both.
"""

from __future__ import annotations

from blockstep.errors import TritonError
from blockstep.findings import Span
from blockstep.language import types as ty
from blockstep.runtime.ladder.compiling import PassFailed, made_for
from blockstep.runtime.ladder.machines import Ptx
from blockstep.runtime.ladder.reporting import kernel_span
from blockstep.runtime.ladder.rung import Broken, NotRun
from blockstep.runtime.whatif.decisions import Decision, What
from blockstep.runtime.whatif.measuring import Cost, Measured, error_of
from blockstep.runtime.whatif.memory import values_of
from blockstep.runtime.whatif.running import Values

APPROXIMATE = frozenset(
    {"exp", "exp2", "log", "log2", "sin", "cos", "fdiv", "sqrt", "rsqrt", "erf"}
)  # fmt: skip


def cost_of_fast(measured: Measured) -> Cost:
    """The error of fast code, before, and of exact code, after."""
    launch = measured.repeated.launch
    decision = Decision(What.FAST, _span(measured), ty.float32, function=_functions(measured))
    made = made_for(launch)
    try:
        fast, exact = (_run(measured, Ptx(made, e)) for e in (False, True))
    except (NotRun, PassFailed, TritonError) as reason:
        return Cost(decision, why=str(reason))
    except Broken as broken:
        return Cost(decision, why=broken.fault.what)
    costs = [
        Cost(decision, name, error_of(fast[name], right, kind), error_of(exact[name], right, kind))
        for name, right, kind in measured.each()
    ]
    return max(costs, key=lambda c: c.share)


def _run(measured: Measured, machine: Ptx) -> Values:
    launch = measured.repeated.launch
    try:
        machine.run(launch)
        return {n: values_of(launch.arguments[n]) for n in measured.repeated.outputs}
    finally:
        launch.memory.restore()


def _approximate(measured: Measured) -> list[str]:
    names = [o.name for o in measured.repeated.function.walk() if o.location is not None]
    return list(dict.fromkeys(n for n in names if n in APPROXIMATE))


def _functions(measured: Measured) -> str:
    return ", ".join(_approximate(measured))


def _span(measured: Measured) -> Span:
    """The first approximate function, or the kernel."""
    for operation in measured.repeated.function.walk():
        if operation.name in APPROXIMATE and operation.location is not None:
            return operation.location.span
    return kernel_span(measured.repeated.launch)


__all__ = ["cost_of_fast"]

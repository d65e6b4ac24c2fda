"""What an operation does besides computing its results."""

from __future__ import annotations

from blockstep.ir import Operation
from blockstep.language.op import Family

_PURE = frozenset(
    {
        Family.SOURCE,
        Family.ELEMENTWISE,
        Family.SELECT,
        Family.SHAPE,
        Family.GATHER,
        Family.REDUCE,
        Family.SCAN,
        Family.DOT,
        Family.MIX,
    }
)
_PURE_CONTROL = frozenset({"program_id", "num_programs"})
_STRUCTURED = frozenset({"if", "for"})


def is_pure(operation: Operation) -> bool:
    """Whether it may be repeated, moved and left out: its results depend on operands alone.

    A load is not: it may be out of bounds, which somebody wants to hear of. Division by zero is
    pure here, because what comes of it is judged where the value is used."""
    op = operation.op
    return not operation.regions and (op.family in _PURE or op.name in _PURE_CONTROL)


def is_removable(operation: Operation) -> bool:
    """Whether it does nothing at all when its results are unused. A `while` may not end, so it
    stays."""
    if is_pure(operation):
        return True
    if operation.name not in _STRUCTURED:
        return False
    return all(
        is_removable(inner) or inner is region.terminator
        for region in operation.regions
        for inner in region.operations
    )

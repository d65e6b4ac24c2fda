"""What an operation does besides computing its results."""

from __future__ import annotations

from blockstep.ir import Function, Operation, Value
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
_KEEPS_PLAIN = frozenset(
    {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "minimum", "maximum", "splat",
     "broadcast", "expand_dims"}
)  # fmt: skip
_STRUCTURED = frozenset({"if", "for"})


def is_pure(operation: Operation) -> bool:
    """Whether it may be repeated, moved and left out: its results depend on operands alone.

    A load is not: it may be out of bounds, which somebody wants to hear of. Division by zero is
    pure here, because what comes of it is judged where the value is used. Inline assembly is what
    its author says."""
    op = operation.op
    if operation.regions or not operation.attributes.get("pure", True):
        return False
    return op.family in _PURE or op.name in _PURE_CONTROL


def is_plain(value: Value) -> bool:
    """Whether no checker could object to a decision by this value: it is defined and unwrapped."""
    producer = value.producer
    if producer is None:
        return isinstance(value.owner.parent, Function)
    if producer.name in _PURE_CONTROL or producer.name in ("constant", "arange"):
        return True
    return producer.name in _KEEPS_PLAIN and all(map(is_plain, producer.operands))


def is_removable(operation: Operation) -> bool:
    """Whether it does nothing at all when its results are unused. A `while` may not end, so it
    stays; so does what a value decides that a checker may object to."""
    if is_pure(operation):
        return True
    if operation.name not in _STRUCTURED:
        return False
    deciding = operation.operands[: 1 if operation.name == "if" else 3]
    return all(map(is_plain, deciding)) and all(
        is_removable(inner) or inner is region.terminator
        for region in operation.regions
        for inner in region.operations
    )

"""Whether the elements that a pointer names in two iterations of a loop can be the same.

A pointer is looked at as `start + step * index + block`, in bytes: a start that the loop does not
change, the loop's index times a constant, and a block of offsets from 0 to some span. Iterations
lie apart where the index moves them by more than the span. Anything else may meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.ir import Operation, Region, Value

_THROUGH = frozenset(
    {"splat", "broadcast", "expand_dims", "reshape", "permute", "convert", "hint", "cast"}
)


@dataclass(frozen=True, slots=True)
class _Form:
    """`start + step * index + (0 … span)`, the start being unknown."""

    step: int = 0
    span: int = 0

    def plus(self, other: _Form) -> _Form:
        return _Form(self.step + other.step, self.span + other.span)

    def times(self, factor: int) -> _Form:
        return _Form(self.step * factor, self.span * abs(factor))


def lies_inside(value: Value, loop: Operation) -> bool:
    """Whether a loop makes a value: in its body, or as what it carries."""
    region = value.owner if isinstance(value.owner, Region) else value.owner.parent
    while isinstance(region, Region):
        if region.parent is loop:
            return True
        if not isinstance(region.parent, Operation):
            return False
        region = region.parent.parent
    return False


def are_apart(pointer: Value, loop: Operation) -> bool:
    """Whether no two iterations of a `for` name a byte twice with this pointer."""
    if loop.name != "for":
        return False
    found, each = _form(pointer, loop), constant(loop.operands[2])
    if found is None or each is None:
        return False
    size = max(1, pointer.type.scalar.element_ty.itemsize)  # type: ignore[attr-defined]
    return bool(abs(found.step * each) >= found.span + size)


def constant(value: Value) -> int | None:
    """The integer that a value certainly is."""
    producer = value.producer
    if producer is None:
        return None
    if producer.name in ("splat", "broadcast", "cast"):
        return constant(producer.operands[0])
    known = producer.attributes["value"] if producer.name == "constant" else None
    return int(known) if isinstance(known, int) else None


def _form(value: Value, loop: Operation) -> _Form | None:
    if value is loop.regions[0].arguments[0]:
        return _Form(1)
    producer = value.producer
    if not value.type.shape and not lies_inside(value, loop):
        return _Form()
    if producer is None:
        return None
    if producer.name in _THROUGH:
        return _form(producer.operands[0], loop)
    if producer.name == "arange":
        return _Form(0, value.type.shape[0] - 1)
    if producer.name == "constant":
        return _Form()
    if producer.name in ("add", "addptr"):
        return _sum(producer, loop)
    if producer.name == "mul":
        return _product(producer, loop)
    return None


def _sum(operation: Operation, loop: Operation) -> _Form | None:
    left, right = (_form(v, loop) for v in operation.operands)
    if left is None or right is None:
        return None
    return left.plus(right.times(operation.attributes.get("itemsize", 1)))


def _product(operation: Operation, loop: Operation) -> _Form | None:
    for value, other in (operation.operands, reversed(operation.operands)):
        factor, form = constant(other), _form(value, loop)
        if factor is not None and form is not None:
            return form.times(factor)
    return None


__all__ = ["are_apart", "constant", "lies_inside"]

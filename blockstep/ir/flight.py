"""Where sums in flight go: to the next product, round loops, out of branches, and to their waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockstep.ir.core import Operation, Value
from blockstep.language import types as ty


def in_flight(operation: Operation) -> bool:
    """Whether it is a product whose sums another operation waits for."""
    return operation.name == "dot" and bool(operation.attributes.get("in_flight"))


def sums(operation: Operation) -> ty.dtype:
    """The type in which a matrix unit adds: products of float16 in float16 if the
    result is to be that."""
    out = operation.results[0].type.scalar
    if out.is_int():
        return ty.int32
    if out.is_fp64():
        return ty.float64
    factors = [v.type.scalar for v in operation.operands[:2]]
    return ty.float16 if out.is_fp16() and all(f.is_fp16() for f in factors) else ty.float32


def partial(operation: Operation) -> int:
    """How many products of 8-bit floats a matrix unit may add before it hands its sum on to float32
    (`max_num_imprecise_acc`); 0: all of them."""
    a = operation.operands[0].type
    limit = operation.attributes.get("imprecise", 0)
    several = a.scalar.is_fp8() and limit <= a.shape[-1]
    return max(1, limit) if several else 0


def users(products: Iterable[Operation]) -> Iterator[tuple[Operation, int]]:
    """Every use of the sums of products in flight, wherever control flow hands them on to."""
    work = [product.results[0] for product in products]
    seen = set(work)
    while work:
        for user, index in work.pop().uses:
            yield user, index
            further = [v for v in handed_on(user, index) if v not in seen]
            seen.update(further)
            work += further


def handed_on(user: Operation, index: int) -> list[Value]:
    """The values that control flow gives an operand to; none for any other use."""
    region = user.parent
    owner = region.parent if region is not None else None
    if user.name == "for" and index > 2:
        return [user.regions[0].arguments[index - 2], user.results[index - 3]]
    if user.name == "while":
        return [user.regions[0].arguments[index]]
    if not isinstance(owner, Operation):
        return []
    if user.name == "condition" and index:
        return [owner.regions[1].arguments[index - 1], owner.results[index - 1]]
    if user.name == "yield" and owner.name == "for":
        return [owner.regions[0].arguments[index + 1], owner.results[index]]
    if user.name == "yield" and owner.name == "while":
        return [owner.regions[0].arguments[index]]
    return [owner.results[index]] if user.name == "yield" else []


__all__ = ["handed_on", "in_flight", "partial", "sums", "users"]

"""Where sums in flight go: to the next product, round loops, out of branches, and to their waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blockstep.ir.core import Operation, Value


def in_flight(operation: Operation) -> bool:
    """Whether it is a product whose sums another operation waits for."""
    return operation.name == "dot" and bool(operation.attributes.get("in_flight"))


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


__all__ = ["handed_on", "in_flight", "users"]

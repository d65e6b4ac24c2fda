"""How matrix products, and what moves elements between lanes, want their operands held."""

from __future__ import annotations

from blockstep.compiler import layouts
from blockstep.ir import Layout, Operation


def choose(operation: Operation, num_warps: int, capability: int) -> Layout:
    """The layout of a product's result."""
    shape = operation.results[0].type.shape
    return layouts.coalesced(shape, tuple(reversed(range(len(shape)))), 4, num_warps)


def operand(operation: Operation, index: int, result: Layout) -> Layout | None:
    """The layout of an operand of a product: any for the factors, which pass through shared
    memory; the accumulator is held as the result is."""
    return result if index == 2 else None


def is_fragment(layout: Layout) -> bool:
    """Whether a layout is that of a matrix instruction's accumulator."""
    return False


def required(operation: Operation, found: Layout | None) -> Layout | None:
    """The layout an operation needs its block operands in, given the home of one of them; None if
    it takes them in any."""
    if operation.name == "reduce" and found is not None:
        axis = len(found.shape) + operation.attributes["axis"]
        return found if _pure(found, axis) else _plain(found)
    if operation.name in ("join", "split"):
        return found
    return None


def _plain(like: Layout) -> Layout:
    order = tuple(reversed(range(len(like.shape))))
    return layouts.coalesced(like.shape, order, 1, like.num_warps)


def _pure(layout: Layout, axis: int) -> bool:
    """Whether each basis lies along the axis or off it."""
    below = 1
    for n in layout.shape[axis + 1 :]:
        below *= n
    n = layout.shape[axis]
    for image in layout.bases:
        along = image // below % n
        if along and image != along * below:
            return False
    return True

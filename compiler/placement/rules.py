"""How the layouts of an operation's operands follow from that of its result, and the other way round.

`backward[name](operation, index, layout)` is the layout operand `index` must have for the result to
be held as `layout` without moving anything between lanes; `forward[name](operation, layout)` is how
the results are held when the first operand is held as `layout`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from blockstep.compiler import layouts
from blockstep.compiler.layouts import axes
from blockstep.ir import Layout, Operation
from blockstep.language.op import Family

Backward = Callable[[Operation, int, Layout], Layout | None]
Forward = Callable[[Operation, Layout], Layout | None]


def _same(operation: Operation, index: int, layout: Layout) -> Layout:
    return layout


def _shrunk(operation: Operation, index: int, layout: Layout) -> Layout:
    """Along axes of length 1 every coordinate is the only one."""
    shape = operation.operands[index].type.shape
    for axis, n in enumerate(shape):
        if n == 1 and layout.shape[axis] > 1:
            layout = layouts.expand_dims(layouts.drop_axis(layout, axis), axis)
    return layout


def _as_operand(operation: Operation, index: int, layout: Layout) -> Layout:
    return layouts.reshape(layout, operation.operands[index].type.shape)


def _permuted_back(operation: Operation, index: int, layout: Layout) -> Layout:
    dims = operation.attributes["dims"]
    inverse = [0] * len(dims)
    for new, old in enumerate(dims):
        inverse[old] = new
    return layouts.permute(layout, tuple(inverse))


def _doubled(operation: Operation, layout: Layout) -> Layout:
    """Two blocks of a layout one after the other: the last register bit says which."""
    axis = axes.normal(operation.attributes["axis"], layout.rank)
    rank = layout.rank
    side_by_side = layouts.permute(layouts.join(layout), (*range(axis), rank, *range(axis, rank)))
    made = layouts.reshape(side_by_side, operation.results[0].type.shape)
    return replace(made, registers=(*made.registers[1:], made.registers[0]))


def _as_result(operation: Operation, layout: Layout) -> Layout:
    return layouts.reshape(layout, operation.results[0].type.shape)


BACKWARD: dict[str, Backward] = {
    "broadcast": _shrunk,
    "expand_dims": _as_operand,
    "reshape": _as_operand,
    "permute": _permuted_back,
}
FORWARD: dict[str, Forward] = {
    "broadcast": lambda op, layout: layouts.broadcast(layout, op.results[0].type.shape),
    "expand_dims": _as_result,
    "reshape": _as_result,
    "permute": lambda op, layout: layouts.permute(layout, op.attributes["dims"]),
    "join": lambda op, layout: layouts.join(layout),
    "split": lambda op, layout: layouts.split(layout),
    "cat": _doubled,
    "flip": lambda op, layout: layout,
    "scan": lambda op, layout: layout,
    "gather": lambda op, layout: layout,
    "map_packed": lambda op, layout: layout,
    "reduce": lambda op, layout: layouts.drop_axis(
        layout, len(layout.shape) + op.attributes["axis"]
    ),
}
SOURCES = frozenset({"constant", "splat", "arange", "collect", "box_pointers", "box_mask"})
"""Operations that can make their result in any layout, out of scalars."""

FOLLOWS = frozenset({"broadcast", "expand_dims"})
"""Cheap to repeat in another layout even where the operand is not."""


def is_elementwise(operation: Operation) -> bool:
    """Whether element i of the results comes from elements i of the operands."""
    return operation.op.family in (Family.ELEMENTWISE, Family.SELECT) or operation.name == "hint"


def backward(operation: Operation, index: int, layout: Layout) -> Layout | None:
    """What operand `index` must be held as for a result held as `layout`; None for scalars."""
    if not operation.operands[index].type.shape:
        return None
    rule = BACKWARD.get(operation.name)
    return _same(operation, index, layout) if rule is None else rule(operation, index, layout)


__all__ = ["BACKWARD", "FOLLOWS", "FORWARD", "SOURCES", "backward", "is_elementwise"]

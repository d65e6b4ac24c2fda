"""How operations that move elements between lanes want their operands held.

A wish is a layout for every block operand of its shape; None means any. Where the home of an
operand serves, it is the wish. Invariant: the lowering of each operation listed here relies on what
its wish promises, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from blockstep.compiler import layouts
from blockstep.compiler.layouts import axes, f2
from blockstep.ir import Layout, Operation

Wish = Callable[[Operation, Layout], Layout]

LEADING = {"gather": 1}
"""The operand whose home decides, and that alone is asked for a layout; else all of them are."""


def _as_it_is(operation: Operation, found: Layout) -> Layout:
    return found


def _axis(operation: Operation, found: Layout) -> int:
    return axes.normal(operation.attributes["axis"], found.rank)


def _for_reduce(operation: Operation, found: Layout) -> Layout:
    axis = _axis(operation, found)
    return found if is_pure(found, axis) else along_axis(found.shape, axis, found.num_warps)


def _for_scan(operation: Operation, found: Layout) -> Layout:
    axis = _axis(operation, found)
    return found if is_ordered(found, axis) else along_axis(found.shape, axis, found.num_warps)


def _for_split(operation: Operation, found: Layout) -> Layout:
    if layouts.split(found) is not None:
        return found
    half = found.shape[:-1]
    return layouts.join(_plain(half, found.num_warps, 4))


def _for_groups(operation: Operation, found: Layout) -> Layout:
    pack = min(operation.attributes["pack"], found.numel)
    if pack == 1 or has_groups(found, pack):
        return found
    return _plain(found.shape, found.num_warps, pack)


WISHES: dict[str, Wish] = {
    "reduce": _for_reduce,
    "scan": _for_scan,
    "split": _for_split,
    "join": _as_it_is,
    "cat": _as_it_is,
    "flip": _as_it_is,
    "gather": _as_it_is,
    "histogram": _as_it_is,
    "map_packed": _for_groups,
    "asm_packed": _for_groups,
}


def asks(operation: Operation, index: int, anchor: Layout) -> bool:
    """Whether operand `index` has to be held as `anchor`, the wish of the operation."""
    only = LEADING.get(operation.name, index)
    return index == only and operation.operands[index].type.shape == anchor.shape


def is_pure(layout: Layout, axis: int) -> bool:
    """Whether each basis lies along the axis or off it, and none is made of others: copies are
    zero bases only."""
    mask = axes.mask(layout.shape, axis)
    mixed = any(basis & mask and basis & ~mask for basis in layout.bases)
    moving = [basis for basis in layout.bases if basis]
    return not mixed and len(f2.independent(moving)) == len(moving)


def is_ordered(layout: Layout, axis: int) -> bool:
    """Whether registers, then lanes, then warps walk along the axis in steps of 1, 2, 4, …"""
    mask = axes.mask(layout.shape, axis)
    steps = [basis for basis in layout.bases if basis & mask]
    wanted = [axes.along(layout.shape, axis, 1 << bit) for bit in range(len(steps))]
    registers = [basis for basis in layout.registers if basis & mask]
    begins = sorted(registers) == wanted[: len(registers)]
    return is_pure(layout, axis) and begins and steps[len(registers) :] == wanted[len(registers) :]


def has_groups(layout: Layout, pack: int) -> bool:
    """Whether registers hold all of each group of `pack` neighbours of a block of one axis."""
    low = pack - 1
    registers = layout.registers[: axes.bits_of(pack)]
    rest = layout.bases[len(registers) :]
    whole = registers == tuple(1 << bit for bit in range(len(registers)))
    return len(registers) == axes.bits_of(pack) and whole and not any(b & low for b in rest)


def along_axis(shape: tuple[int, ...], axis: int, num_warps: int) -> Layout:
    """A layout that `is_ordered`: neighbours along the axis in a lane, and warps side by side
    off the axis where they find room. Lanes go along the last axis first, as memory does."""
    others = [other for other in reversed(range(len(shape))) if other != axis]
    last_first = [axis, *others] if axis == len(shape) - 1 else [*others, axis]
    held = [1] * len(shape)
    held[axis] = min(shape[axis], max(1, prod(shape) // (32 * num_warps)))
    left = [length // mine for length, mine in zip(shape, held, strict=True)]
    lanes = _dealt(left, 32, last_first)
    warps = _dealt(left, num_warps, [*others, axis])
    # What is left of the axis goes to registers too, which then have to be the lowest steps.
    held[axis] *= left[axis]
    return layouts.blocked(shape, held, lanes, warps, last_first)


def _dealt(left: list[int], count: int, order: list[int]) -> list[int]:
    """`count` holders dealt to the axes in order; `left` keeps what has none. The rest makes
    copies, along the first axis."""
    dealt = [1] * len(left)
    for axis in order:
        dealt[axis] = min(count, left[axis])
        left[axis] //= dealt[axis]
        count //= dealt[axis]
    dealt[order[-1]] *= count
    return dealt


def _plain(shape: tuple[int, ...], num_warps: int, vector: int) -> Layout:
    order = tuple(reversed(range(len(shape))))
    return layouts.coalesced(shape, order, vector, num_warps)


__all__ = ["LEADING", "WISHES", "along_axis", "asks", "has_groups", "is_ordered", "is_pure"]

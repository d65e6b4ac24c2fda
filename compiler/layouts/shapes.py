"""The layout of a block after an operation that changes its shape and moves no data.

Each function says which register of the operand a register of the result is; where that is not
`the same one`, a second function gives the table. A kernel has few layouts and asks about each of
them many times, so the answers are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from blockstep.compiler.layouts import axes, f2
from blockstep.compiler.layouts.linear import compose
from blockstep.ir.layout import LANE_BITS, Layout, xor

KEPT = 4096  # answers of each function


def reshape(layout: Layout, shape: Sequence[int]) -> Layout:
    """The same elements in row-major order under another shape; the same registers.

    Raises ValueError if the number of elements differs."""
    if prod(shape) != layout.numel:
        raise ValueError(f"{layout.numel} elements do not fill a block of shape {tuple(shape)}")
    return _with_shape(layout, tuple(shape))


@lru_cache(maxsize=KEPT)
def _with_shape(layout: Layout, shape: tuple[int, ...]) -> Layout:
    return replace(layout, shape=shape)


def permute(layout: Layout, dims: Sequence[int]) -> Layout:
    """Axis `i` of the result is axis `dims[i]` of the operand; the same registers.

    Raises ValueError if `dims` is no permutation of the axes."""
    order = tuple([axes.normal(dim, layout.rank) for dim in dims])
    if sorted(order) != list(range(layout.rank)):
        raise ValueError(f"{tuple(dims)} is no permutation of {layout.rank} axes")
    return _permuted(layout, order)


@lru_cache(maxsize=KEPT)
def _permuted(layout: Layout, order: tuple[int, ...]) -> Layout:
    shape = tuple(layout.shape[dim] for dim in order)
    moved = []
    for bit in range(axes.bits_of(layout.numel)):
        position = axes.coordinates(layout.shape, 1 << bit)
        moved.append(axes.flat(shape, [position[dim] for dim in order]))
    return compose(moved, layout, shape)


def expand_dims(layout: Layout, axis: int) -> Layout:
    """A new axis of length 1 before axis `axis` of the result; the same registers."""
    axis = axes.normal(axis, layout.rank + 1)
    return _with_shape(layout, (*layout.shape[:axis], 1, *layout.shape[axis:]))


def _without(layout: Layout, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape without an axis, and the map of elements that forgets it."""
    axis = axes.normal(axis, layout.rank)
    shape = (*layout.shape[:axis], *layout.shape[axis + 1 :])
    images = []
    for bit in range(axes.bits_of(layout.numel)):
        position = axes.coordinates(layout.shape, 1 << bit)
        images.append(axes.flat(shape, (*position[:axis], *position[axis + 1 :])))
    return shape, tuple(images)


@lru_cache(maxsize=KEPT)
def drop_axis(layout: Layout, axis: int) -> Layout:
    """The slice layout: what is left of a layout when an axis is reduced.

    Every lane keeps the elements it has a part of. Registers that became copies of others are
    left out (`slice_registers` says which register each became); lanes and warps that did, stay."""
    shape, forget = _without(layout, axis)
    registers = f2.compose(forget, layout.registers)
    return Layout(
        shape,
        tuple(registers[bit] for bit in f2.independent(registers)),
        f2.compose(forget, layout.lanes),
        f2.compose(forget, layout.warps),
        f2.compose(forget, layout.ctas),
    )


def slice_registers(layout: Layout, axis: int) -> tuple[int, ...]:
    """For each register, the register of `drop_axis(layout, axis)` that it is reduced into."""
    _, forget = _without(layout, axis)
    registers = f2.compose(forget, layout.registers)
    span = f2.Span(registers[bit] for bit in f2.independent(registers))
    found = []
    for register in range(layout.per_lane):
        into = span.solve(xor(registers, register))
        assert into is not None, "the kept registers span all of them"
        found.append(into)
    return tuple(found)


def _embed(shape: Sequence[int], into: Sequence[int]) -> tuple[int, ...]:
    """The map of elements of `shape` to those of the larger shape at the same coordinates."""
    bits = range(axes.bits_of(prod(shape)))
    return tuple(axes.flat(into, axes.coordinates(shape, 1 << bit)) for bit in bits)


@lru_cache(maxsize=KEPT)
def _widen(layout: Layout, shape: tuple[int, ...], spread: bool) -> Layout:
    """A layout of the larger shape, whose elements at the origin of the grown axes lie where they
    did. New bits of elements become new registers, after the old ones; with `spread` the lanes
    and warps that only hold copies take them first."""
    embedded = _embed(layout.shape, shape)
    bases = list(f2.compose(embedded, layout.bases))
    grown = [1 << bit for bit in range(axes.bits_of(prod(shape))) if 1 << bit not in embedded]
    count = len(layout.registers)
    for position in _copies(layout) if spread else ():
        if grown:
            bases[position] ^= grown.pop(0)
    lanes, warps = count + LANE_BITS, count + LANE_BITS + len(layout.warps)
    return Layout(
        shape,
        (*bases[:count], *grown),
        tuple(bases[count:lanes]),
        tuple(bases[lanes:warps]),
        tuple(bases[warps:]),
    )


def _copies(layout: Layout) -> list[int]:
    """Positions among the bases of lanes and warps that depend on registers and earlier bits."""
    chosen = set(f2.independent(layout.registers + layout.ctas + layout.lanes + layout.warps))
    first, ctas = len(layout.registers), len(layout.ctas)
    spread = range(LANE_BITS + len(layout.warps))
    return [first + bit for bit in spread if first + ctas + bit not in chosen]


def insert_axis(layout: Layout, axis: int, length: int, *, spread: bool = False) -> Layout:
    """A layout of a parent block with a new axis before axis `axis` of the result, whose slice
    along it is the given layout (without its register copies).

    The new axis lies in registers, numbered after the old ones; with `spread` it lies in those
    lanes and warps first that hold only copies."""
    axis = axes.normal(axis, layout.rank + 1)
    thin = expand_dims(layout, axis)
    return _widen(thin, (*layout.shape[:axis], length, *layout.shape[axis:]), spread)


def broadcast(layout: Layout, shape: Sequence[int], *, spread: bool = False) -> Layout:
    """Axes of length 1 repeated to the lengths of `shape`.

    Register `r` of the result is register `r % layout.per_lane` of the operand. The new elements
    lie in registers; with `spread` they lie in those lanes and warps first that hold only copies.
    Raises ValueError if an axis of another length than 1 would change."""
    for old, new in zip(layout.shape, shape, strict=True):
        if old not in (1, new):
            raise ValueError(f"{layout.shape} cannot be broadcast to {tuple(shape)}")
    return _widen(layout, tuple(shape), spread)


def join(layout: Layout) -> Layout:
    """Two blocks of one layout, joined in a new last axis of length 2.

    Register `2 * r + k` of the result is register `r` of operand `k`."""
    shape = (*layout.shape, 2)
    moved = tuple(2 << bit for bit in range(axes.bits_of(layout.numel)))
    wide = f2.compose(moved, layout.registers)
    return Layout(
        shape,
        (1, *wide),
        f2.compose(moved, layout.lanes),
        f2.compose(moved, layout.warps),
        f2.compose(moved, layout.ctas),
    )


def split(layout: Layout) -> Layout | None:
    """The layout of both halves of a block along its last axis, of length 2.

    None if the halves cannot be had in one layout by naming registers: then convert first.
    `split_registers` says where they are. Raises ValueError if the last axis is not of length 2."""
    pairs = _pairs(layout)
    if pairs is None:
        return None
    return Layout(
        layout.shape[:-1],
        tuple(xor(layout.registers, register) >> 1 for register in pairs[1:]),
        *(tuple(b >> 1 for b in bases) for bases in (layout.lanes, layout.warps, layout.ctas)),
    )


def split_registers(layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For each half, the register of the whole that each register of the half is.

    Raises ValueError where `split` returns None."""
    pairs = _pairs(layout)
    if pairs is None:
        raise ValueError(f"the halves of {layout} do not lie in registers of their own")
    other, rest = pairs[0], pairs[1:]
    first = tuple(xor(rest, register) for register in range(1 << len(rest)))
    return first, tuple(register ^ other for register in first)


def _pairs(layout: Layout) -> list[int] | None:
    """The register that leads from a half to the other, and those that stay in the first half."""
    if not layout.shape or layout.shape[-1] != 2:
        raise ValueError(f"a block of shape {layout.shape} is not split: its last axis is not 2")
    other = f2.Span(layout.registers).solve(1)
    if other is None or any(b & 1 for b in layout.lanes + layout.warps + layout.ctas):
        return None
    low = other & -other  # the one bit that `other` replaces
    stay = []
    for bit, basis in enumerate(layout.registers):
        if 1 << bit != low:
            stay.append(1 << bit if not basis & 1 else 1 << bit ^ other)
    return [other, *stay]

"""Questions about layouts that are answered by algebra over F2.

Nothing here assumes that a basis has a single bit, or that different bits have different bases.
A `Piece` is a layout without its promises (five lanes, every element held), to build larger ones
from and to divide others by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blockstep.compiler.layouts import axes, f2
from blockstep.ir.layout import Layout, xor


class Bits(NamedTuple):
    """A mask of register, lane, warp and cta bits: one holder, or the bits with some property."""

    registers: int
    lanes: int
    warps: int
    ctas: int


@dataclass(frozen=True, slots=True)
class ByLane:
    """A number that is an F2-linear function of the lane, the warp and the CTA."""

    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    ctas: tuple[int, ...]

    def of(self, lane: int, warp: int, cta: int = 0) -> int:
        """Its value."""
        return xor(self.lanes, lane) ^ xor(self.warps, warp) ^ xor(self.ctas, cta)

    def __bool__(self) -> bool:
        """Whether it is not 0 everywhere."""
        return any(self.lanes + self.warps + self.ctas)


def _masks(layout: Layout, marked: Callable[[int], bool]) -> Bits:
    """The bits whose basis is marked."""
    kinds = (layout.registers, layout.lanes, layout.warps, layout.ctas)
    return Bits(*(sum(marked(b) << bit for bit, b in enumerate(bases)) for bases in kinds))


def same(a: Layout, b: Layout) -> bool:
    """Whether each holder holds the element of the same flat index, so that nothing has to move.

    The shapes may differ: a reshape moves nothing."""
    return (a.numel, a.registers, a.lanes, a.warps, a.ctas) == (
        b.numel,
        b.registers,
        b.lanes,
        b.warps,
        b.ctas,
    )


def compose(elements: Sequence[int], layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout of a block of `shape` whose element `elements(e)` lies where `e` lies here."""
    return Layout(
        shape,
        f2.compose(elements, layout.registers),
        f2.compose(elements, layout.lanes),
        f2.compose(elements, layout.warps),
        f2.compose(elements, layout.ctas),
    )


def redundant(layout: Layout) -> Bits:
    """The bits that only make copies: every element has exactly one holder with all of them 0.

    A store or an atomic acts for those holders alone. Where a register and a lane copy each other
    the register is the redundant one, so that all lanes have work."""
    registers = len(layout.registers)
    spread = layout.lanes + layout.warps + layout.ctas
    chosen = set(f2.independent(spread + layout.registers))
    spare = sum(1 << bit for bit in range(len(layout.bases)) if bit not in chosen)
    others, copies = spare & ((1 << len(spread)) - 1), spare >> len(spread)
    return _unpack(layout, copies | others << registers)


def _unpack(layout: Layout, packed: int) -> Bits:
    """A number of register, lane, warp and cta bits, the registers lowest, as four masks."""
    masks = []
    for bases in (layout.registers, layout.lanes, layout.warps, layout.ctas):
        masks.append(packed & ((1 << len(bases)) - 1))
        packed >>= len(bases)
    return Bits(*masks)


@dataclass(frozen=True, slots=True)
class Holders:
    """A right inverse of a layout: one holder for every element, linear over F2."""

    bits: tuple[Bits, ...]
    """The holder of element 1, 2, 4, …"""

    def of(self, element: int) -> Bits:
        """The holder of an element."""
        return Bits(*(xor(kind, element) for kind in zip(*self.bits, strict=True)) if self.bits
                    else (0, 0, 0, 0))  # fmt: skip


def invert(layout: Layout) -> Holders:
    """The holder of every element that has all `redundant` bits 0."""
    spread = layout.lanes + layout.warps + layout.ctas
    count, registers = len(spread), len(layout.registers)
    bits = []
    for packed in f2.inverse(spread + layout.registers, axes.bits_of(layout.numel)):
        others, register = packed & ((1 << count) - 1), packed >> count
        bits.append(_unpack(layout, register | others << registers))
    return Holders(tuple(bits))


def axis_bits(layout: Layout, axis: int) -> Bits:
    """The bits that move along an axis (and perhaps along others too)."""
    mask = axes.mask(layout.shape, axes.normal(axis, layout.rank))
    return _masks(layout, lambda basis: bool(basis & mask))


def contiguous(layout: Layout, order: Sequence[int]) -> int:
    """How many elements of consecutive registers are consecutive along the fastest axis.

    `order` lists the axes of memory, the fastest first. Registers 0 … n-1 (and n … 2n-1, and so
    on) of every lane hold n consecutive elements, the first at a multiple of n: the width of a
    vector access, in elements. 1 for a block without axes."""
    if not layout.shape:
        return 1
    axis = axes.normal(order[0], layout.rank)
    low, width = axes.shift(layout.shape, axis), 0
    for bit in range(min(len(layout.registers), axes.bits_of(layout.shape[axis]))):
        if layout.registers[bit] != 1 << low + bit or _reached(layout, low, bit + 1):
            break
        width += 1
    return 1 << width


def _reached(layout: Layout, low: int, count: int) -> bool:
    """Whether bits other than the lowest `count` register bits move the lowest bits of an axis,
    which would begin a vector off its multiple."""
    mask = ((1 << count) - 1) << low
    return any(basis & mask for basis in layout.bases[count:])


@dataclass(frozen=True, slots=True)
class Piece:
    """Where the elements of a part of a block lie: bases like a `Layout`'s, of any number."""

    shape: tuple[int, ...]
    registers: tuple[int, ...] = ()
    lanes: tuple[int, ...] = ()
    warps: tuple[int, ...] = ()
    ctas: tuple[int, ...] = ()


def product(inner: Piece, outer: Piece) -> Piece:
    """The piece of shape inner.shape * outer.shape whose low bits, of holders and of each
    coordinate, are those of `inner`. Both have the same number of axes."""
    shape = tuple(a * b for a, b in zip(inner.shape, outer.shape, strict=True))
    near = [_embedded(1 << bit, inner.shape, shape) for bit in range(_bits(inner.shape))]
    far = [_scaled(1 << bit, outer.shape, inner.shape, shape) for bit in range(_bits(outer.shape))]

    def joined(low: tuple[int, ...], high: tuple[int, ...]) -> tuple[int, ...]:
        return f2.compose(near, low) + f2.compose(far, high)

    return Piece(
        shape,
        joined(inner.registers, outer.registers),
        joined(inner.lanes, outer.lanes),
        joined(inner.warps, outer.warps),
        joined(inner.ctas, outer.ctas),
    )


def _bits(shape: Sequence[int]) -> int:
    return sum(map(axes.bits_of, shape))


def _embedded(element: int, part: Sequence[int], whole: Sequence[int]) -> int:
    """The flat index in the whole of an element of the part at its origin."""
    return axes.flat(whole, axes.coordinates(part, element))


def _scaled(element: int, counts: Sequence[int], part: Sequence[int], whole: Sequence[int]) -> int:
    """The flat index in the whole of the first element of a part, given the number of the part."""
    starts = [c * n for c, n in zip(axes.coordinates(counts, element), part, strict=True)]
    return axes.flat(whole, starts)


def divide(whole: Layout | Piece, inner: Piece) -> Piece | None:
    """The piece `outer` with whole = product(inner, outer), or None if there is none."""
    if any(n % m for n, m in zip(whole.shape, inner.shape, strict=True)):
        return None
    shape = tuple(n // m for n, m in zip(whole.shape, inner.shape, strict=True))
    registers = _quotient(whole, inner, whole.registers, inner.registers)
    lanes = _quotient(whole, inner, whole.lanes, inner.lanes)
    warps = _quotient(whole, inner, whole.warps, inner.warps)
    ctas = _quotient(whole, inner, whole.ctas, inner.ctas)
    if registers is None or lanes is None or warps is None or ctas is None:
        return None
    return Piece(shape, registers, lanes, warps, ctas)


def _quotient(
    whole: Layout | Piece, inner: Piece, bases: tuple[int, ...], low: tuple[int, ...]
) -> tuple[int, ...] | None:
    if bases[: len(low)] != tuple(_embedded(b, inner.shape, whole.shape) for b in low):
        return None
    counts = tuple(n // m for n, m in zip(whole.shape, inner.shape, strict=True))
    rest = []
    for basis in bases[len(low) :]:
        position = axes.coordinates(whole.shape, basis)
        if any(c % m for c, m in zip(position, inner.shape, strict=True)):
            return None
        starts = [c // m for c, m in zip(position, inner.shape, strict=True)]
        rest.append(axes.flat(counts, starts))
    return tuple(rest)


def placed(piece: Piece) -> Layout:
    """The piece as a layout. Raises ValueError if it breaks a layout's promises."""
    return Layout(piece.shape, piece.registers, piece.lanes, piece.warps, piece.ctas)

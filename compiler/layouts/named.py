"""Layouts by name: blocked ones for memory, and the fragments of the tensor cores.

Fragments follow the figures of the PTX ISA, sections `mma.sync` (m16n8k4 to m16n8k32, m8n8k4 for
f64) and `wgmma` (m64nNk16), for a warp or a warpgroup, and are repeated over the block. What
reaches past the end of an axis wraps around: lanes and warps then hold copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from blockstep.compiler.layouts import axes
from blockstep.compiler.layouts.linear import Piece, placed
from blockstep.ir.layout import LANE_BITS, Layout

WARPGROUP = 4  # warps that issue one wgmma


@dataclass(slots=True)
class _Growing:
    """A piece that grows from the lowest bits up: how far each axis is covered so far."""

    shape: tuple[int, ...]
    reach: list[int] = field(init=False)
    registers: list[int] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    warps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reach = [1] * len(self.shape)

    def cover(self, bases: list[int], axis: int, count: int) -> None:
        """The next `count` positions along an axis go to the next bits of `bases`."""
        for _ in range(axes.bits_of(count)):
            bases.append(axes.along(self.shape, axis, self.reach[axis]))
            self.reach[axis] *= 2

    def fill(self, order: Sequence[int]) -> None:
        """What is not covered yet goes to registers, the first axis of `order` first."""
        for axis in order:
            if self.reach[axis] < self.shape[axis]:
                self.cover(self.registers, axis, self.shape[axis] // self.reach[axis])

    def layout(self) -> Layout:
        return placed(
            Piece(self.shape, tuple(self.registers), tuple(self.lanes), tuple(self.warps))
        )


def blocked(
    shape: Sequence[int],
    per_lane: Sequence[int],
    lanes: Sequence[int],
    warps: Sequence[int],
    order: Sequence[int],
) -> Layout:
    """Each lane holds `per_lane` neighbours along each axis, and so on outwards: `lanes` of them
    along each axis, `warps` of those, and then again from the first lane.

    `order` lists the axes, the fastest first; registers, lanes and warps are numbered along it.
    Lanes and warps past the end of an axis hold copies; registers past it are left out.
    Raises ValueError unless there are 32 lanes, and for numbers that are no powers of two."""
    growing = _Growing(tuple(shape))
    for axis in order:
        growing.cover(growing.registers, axis, min(per_lane[axis], shape[axis]))
    for axis in order:
        growing.cover(growing.lanes, axis, lanes[axis])
    for axis in order:
        growing.cover(growing.warps, axis, warps[axis])
    growing.fill(order)
    return growing.layout()


def coalesced(shape: Sequence[int], order: Sequence[int], vector: int, num_warps: int) -> Layout:
    """A layout for loads and stores of memory whose fastest axis is `order[0]`: `vector`
    consecutive elements per lane, the lanes along the fastest axis first, then the warps.

    `vector` is cut to the length of the axis, not to the number of elements per lane: 128
    elements in vectors of 4 keep one warp busy, and the others hold copies."""
    if not shape:
        return scalar(num_warps)
    per_lane = [1] * len(shape)
    per_lane[order[0]] = min(vector, shape[order[0]])
    left = [length // held for length, held in zip(shape, per_lane, strict=True)]
    lanes = _dealt(left, 1 << LANE_BITS, order)
    left = [max(1, length // held) for length, held in zip(left, lanes, strict=True)]
    return blocked(shape, per_lane, lanes, _dealt(left, num_warps, order), order)


def scalar(num_warps: int) -> Layout:
    """The layout of a block without axes: every lane holds its one element."""
    return Layout((), (), (0,) * LANE_BITS, (0,) * axes.bits_of(num_warps))


def _dealt(left: Sequence[int], count: int, order: Sequence[int]) -> list[int]:
    """`count` holders dealt to the axes, as many as each has room for; the last takes the rest."""
    dealt = [1] * len(left)
    for axis in order:
        dealt[axis] = min(count, left[axis])
        count //= dealt[axis]
    dealt[order[-1]] *= count
    return dealt


def mma_accumulator(shape: Sequence[int], warps_per_axis: Sequence[int]) -> Layout:
    """The m16n8 fragment of mma.sync in every warp, over a block of shape `… m n`.

    row = lane // 4 + 8 * (register // 2), column = 2 * (lane % 4) + register % 2; two m8n8
    fragments of f64, one above the other, lie the same. Warps are numbered along n first, then m,
    then the batch axes. Further registers go along n, then m, then the batch axes."""
    m, n = _matrix_axes(shape)
    growing = _fragment(tuple(shape))
    outwards = (n, m, *reversed(range(m)))
    for axis in outwards:
        growing.cover(growing.warps, axis, warps_per_axis[axis])
    growing.fill(outwards)
    return growing.layout()


def _matrix_axes(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) < 2:
        raise ValueError(f"a block of shape {tuple(shape)} is no matrix")
    return len(shape) - 2, len(shape) - 1


def _fragment(shape: tuple[int, ...]) -> _Growing:
    """Registers 0–3 and the lanes of m16n8."""
    m, n = _matrix_axes(shape)
    growing = _Growing(shape)
    growing.cover(growing.registers, n, 2)
    growing.cover(growing.lanes, n, 4)
    growing.cover(growing.lanes, m, 8)
    growing.cover(growing.registers, m, 2)
    return growing


def wgmma_accumulator(shape: Sequence[int], num_warps: int, instruction_n: int) -> Layout:
    """The m64nN fragment of wgmma in every warpgroup, over a block of shape `m n`.

    Registers 4j + b and 4j + 2 + b hold rows lane // 4 and lane // 4 + 8 of the warp's 16, column
    8j + 2 * (lane % 4) + b. The four warps of a warpgroup are 16 rows each; warpgroups go along m
    first, then n. Further registers go along n, then m: whole instructions, in that order.
    Raises ValueError for blocks smaller than one instruction and incomplete warpgroups."""
    m, n = _matrix_axes(shape)
    if num_warps % WARPGROUP:
        raise ValueError(f"{num_warps} warps are no whole warpgroups of {WARPGROUP}")
    if shape[m] < 64 or not 8 <= instruction_n <= min(256, shape[n]):
        raise ValueError(f"m64n{instruction_n} does not fit a block of {shape[m]}x{shape[n]}")
    growing = _fragment(tuple(shape))
    growing.cover(growing.registers, n, instruction_n // 8)
    growing.cover(growing.warps, m, WARPGROUP)
    groups = num_warps // WARPGROUP
    along_m = min(groups, shape[m] // 64)
    growing.cover(growing.warps, m, along_m)
    growing.cover(growing.warps, n, groups // along_m)
    growing.fill((n, m, *reversed(range(m))))
    return growing.layout()


def mma_operand(accumulator: Layout, index: int, k: int, itemsize: int) -> Layout:
    """The fragments of operand A (`index` 0, shape `… m k`) or B (1, shape `… k n`) of mma.sync
    m16n8k(32 / itemsize), for an accumulator of `mma_accumulator` or `wgmma_accumulator`.

    With e = 4 / itemsize elements in a 32-bit register: registers count e elements along k, then
    (A only) the rows lane // 4 and + 8, then the k halves e * 4 apart, then further k steps, and
    last the fragments along m or n in the accumulator's order. Of f64 (m8n8k4) there is one k
    half, and A's rows + 8 are a fragment of their own. Warps that split the other axis hold copies.
    Raises ValueError if k is shorter than one instruction, or the accumulator is no such one."""
    m, n = _matrix_axes(accumulator.shape)
    own, shared = (m, n) if index == 0 else (n, m)
    along_k = n if index == 0 else m
    shape = tuple(k if axis == along_k else length for axis, length in enumerate(accumulator.shape))
    _check_operand(accumulator, k, itemsize)
    growing = _Growing(shape)
    growing.cover(growing.registers, along_k, max(1, 4 // itemsize))
    growing.cover(growing.lanes, along_k, 4)
    growing.cover(growing.lanes, own, 8)
    if index == 0:
        growing.cover(growing.registers, own, 2)
    growing.fill((along_k,))  # first the k half of the same instruction
    moved = [_carried(accumulator, basis, shape, shared) for basis in accumulator.registers[2:]]
    growing.registers += [basis for basis in moved if basis is not None]
    growing.warps = [_carried(accumulator, b, shape, shared) or 0 for b in accumulator.warps]
    return growing.layout()


def _carried(accumulator: Layout, basis: int, shape: Sequence[int], shared: int) -> int | None:
    """An accumulator's basis in the operand, or None if it moves along the axis the operand
    lacks."""
    position = list(axes.coordinates(accumulator.shape, basis))
    if position[shared]:
        return None
    return axes.flat(shape, position)


def _check_operand(accumulator: Layout, k: int, itemsize: int) -> None:
    if itemsize not in (1, 2, 4, 8):
        raise ValueError(f"mma has no operands of {itemsize} bytes")
    if k < (step := 4 if itemsize == 8 else 32 // itemsize):
        raise ValueError(f"k = {k} is shorter than one instruction, k{step}")
    fragment = _fragment(accumulator.shape)
    moved = accumulator.registers[2:] + accumulator.warps
    one_axis = (sum(map(bool, axes.coordinates(accumulator.shape, basis))) <= 1 for basis in moved)
    begins = accumulator.registers[:2] == tuple(fragment.registers)
    if not begins or accumulator.lanes != tuple(fragment.lanes) or not all(one_axis):
        raise ValueError(f"{accumulator} is no accumulator of mma or wgmma")

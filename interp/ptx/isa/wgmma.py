"""`wgmma`: operands out of shared memory by descriptor, and its groups.

A descriptor has the address, two strides and the swizzle of a matrix in shared memory, in units of 16
bytes. A matrix is a set of 16-byte chunks. With rows along K (K-major) chunk c of row r lies at

    (r / 8) · stride + (r % 8) · span + 16 · c            (no swizzle: c · leading for 16 · c)

and with rows along M or N (MN-major) chunk q of row k at

    (16 q / span) · leading + 16 q % span + (k % 8) · span + (k / 8) · stride

(no swizzle: q · stride + (k % 8) · 16 + (k / 8) · leading), `span` being the swizzle's 128, 64 or 32
bytes. The swizzle exchanges chunks by the bits of the sum.

A product is done when it is issued. The accumulators are remembered as matrices: the next product on
the same registers need not put them together again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.frame import LANES, Bits, Frame, Mask
from blockstep.interp.ptx.isa.copies import Groups, repeated
from blockstep.interp.ptx.isa.mma import BITS, WARPS, Wgmma, numbers
from blockstep.interp.ptx.isa.mma import wgmma as arithmetic
from blockstep.interp.ptx.isa.registry import Instruction, Unsupported
from blockstep.interp.ptx.isa.tensors import CHUNK, swizzled
from blockstep.interp.ptx.syntax import Immediate

_SPANS = {0: 0, 1: 128, 2: 64, 3: 32}  # of the descriptor's top bits
_FIELD = (1 << 14) - 1


@functools.lru_cache(maxsize=256)
def chunks(rows: int, depth: int, leading: int, stride: int, span: int, by_k: bool) -> Bits:
    """Offsets of all chunks: (rows, chunks of a row), where a row is `depth` bytes long if `by_k`;
    else (k, chunks of the `depth` bytes along M or N)."""
    row = np.arange(rows, dtype=np.int64)[:, None]
    chunk = np.arange(depth // CHUNK, dtype=np.int64)[None]
    if by_k:
        if not span:
            return row // 8 * stride + row % 8 * CHUNK + chunk * leading
        return row // 8 * stride + row % 8 * span + CHUNK * chunk
    if not span:
        return chunk * stride + row % 8 * CHUNK + row // 8 * leading
    along = CHUNK * chunk
    return along // span * leading + along % span + row % 8 * span + row // 8 * stride


class _Matrix:
    """A matrix in shared memory: `rows` along M or N, `k` elements deep."""

    def __init__(self, rows: int, k: int, type: str, by_k: bool) -> None:
        self.rows, self.k, self.type, self.by_k = rows, k, type, by_k

    def read(self, frame: Frame, descriptors: Bits, heads: tuple[Bits, Bits], place: Any) -> Bits:
        """(warpgroups, rows, k) in f64. `heads`: CTA and first thread of each warpgroup."""
        size = BITS[self.type] // 8
        shape = (self.rows, self.k * size) if self.by_k else (self.k, self.rows * size)
        parts = []
        rest = descriptors >> np.uint64(16)
        if (rest != rest[0]).any():
            for n in range(descriptors.size):
                one = heads[0][n : n + 1], heads[1][n : n + 1]
                parts.append(self._read(frame, descriptors[n : n + 1], one, shape, place))
            found = np.concatenate(parts)
        else:
            found = self._read(frame, descriptors, heads, shape, place)
        values: Bits = numbers(self.type, found.view(np.uint8))
        return values if self.by_k else values.swapaxes(1, 2)

    def _read(
        self, frame: Frame, descriptors: Bits, heads: tuple[Bits, Bits], shape: tuple[int, int],
        place: Any,
    ) -> Bits:  # fmt: skip
        one = int(descriptors[0])
        leading, stride = (one >> 16 & _FIELD) * CHUNK, (one >> 32 & _FIELD) * CHUNK
        span = _SPANS[one >> 62]
        if one >> 49 & 7:
            raise frame.batch.trap(frame, "async", "a descriptor with a base offset", None, place)
        start = (descriptors.astype(np.int64) & _FIELD) * CHUNK
        offsets = chunks(*shape, leading, stride, span, self.by_k)
        address = swizzled(start[:, None] + offsets.reshape(1, -1), span)
        many = repeated(frame, *heads, offsets.size)
        items = frame.batch.memory.load(
            many, "shared", address.reshape(1, -1), CHUNK, None, place, "product"
        )
        bits: Bits = items.reshape(len(start), shape[0], -1)
        return bits


@effect("wgmma")
def warpgroup(i: Instruction, d: Decoder) -> Effect:
    """`wgmma.mma_async`, and what orders it."""
    if i.modifiers[0] in ("fence", "commit_group", "wait_group"):
        return _whole(d, i)
    try:
        return _product(i, d, arithmetic(i))
    except Unsupported:
        return d.fail(i.name)


def _whole(d: Decoder, i: Instruction) -> Effect:
    """`fence`, `commit_group`, `wait_group n`."""
    place, what = d.place, i.modifiers[0]
    left = i.operands[0].value if what == "wait_group" else 0

    def run(frame: Frame, mask: Mask) -> None:
        _check(frame, mask, place)
        if what == "fence":
            return
        groups = Groups.of_products(frame.batch)
        cta, warpgroup = frame.warps.cta[::WARPS], frame.warps.warp[::WARPS] // WARPS
        if what == "commit_group":
            groups.commit(cta, warpgroup)
        else:
            groups.wait(frame.batch, cta, warpgroup, left)
            order = frame.batch.order
            if order is not None:
                order.products_waited(cta, warpgroup, groups.done[cta, warpgroup])

    return run


def _check(frame: Frame, mask: Mask, place: Any) -> None:
    """Raises Trap unless whole warpgroups run the instruction."""
    warps = frame.warps
    rows = warps.warp.reshape(-1, WARPS) if warps.warp.size % WARPS == 0 else None
    if (
        mask is not None or warps.present is not None or rows is None
        or (rows != rows[:, :1] + np.arange(WARPS)).any() or (rows[:, 0] % WARPS).any()
    ):  # fmt: skip
        raise frame.batch.trap(frame, "barrier", "a part of a warpgroup at wgmma", mask, place)


def _product(i: Instruction, d: Decoder, core: Wgmma) -> Effect:
    """`d, a, b-desc, scale-d, scale-a, scale-b{, trans-a, trans-b}`; integers have no scales."""
    place, type = d.place, core.product.a
    ends, a, b, *rest = i.operands
    scale = d.source(rest[0], "pred")
    fixed = [o.value for o in rest[1:] if isinstance(o, Immediate)]
    signs, turned = (*fixed[:2], 1, 1)[:2], (*fixed[2:], 0, 0)
    in_registers = isinstance(a, tuple)
    if in_registers:
        turned = (0, *fixed[2:], 0)
    if len(ends) != core.registers:
        d.fail(f"{i.name} with {len(ends)} accumulators")
    slots, hands_on = tuple([d.register(end) for end in ends]), d.hands_on
    a_slots = [d.source(one, "b32") for one in a] if in_registers else [d.source(a, "b64")]
    b_slot = d.source(b, "b64")
    of_a = _Matrix(64, core.k, type, not turned[0])
    of_b = _Matrix(core.n, core.k, core.product.b, not turned[1])

    def run(frame: Frame, mask: Mask) -> None:
        _check(frame, mask, place)
        Groups.of_products(frame.batch)
        regs, warps = frame.regs, frame.warps
        heads = warps.cta[::WARPS], warps.warp[::WARPS] * LANES
        flat = [np.broadcast_to(regs[s], frame.shape).reshape(-1) for s in (*a_slots, b_slot)]
        first = slice(None, None, WARPS * LANES)
        if in_registers:
            left = core.a(flat[:-1])
        else:
            left = of_a.read(frame, flat[0][first], heads, place)
        right = of_b.read(frame, flat[-1][first], heads, place).swapaxes(1, 2)
        left, right = (x if s == 1 else x * s for x, s in zip((left, right), signs, strict=True))
        result = core(left, right, _accumulators(frame, core, slots, scale))
        if hands_on:
            frame.tiles[slots] = result
            return
        for slot, bits in zip(slots, core.fragment(result), strict=True):
            regs[slot] = bits.reshape(frame.shape)
        known = frame.batch.state.setdefault("accumulators", {})
        known[slots] = [regs[s] for s in slots], result

    return run


def _accumulators(frame: Frame, core: Wgmma, slots: tuple[int, ...], scale: int) -> Any:
    """D before: None where `scale-d` is 0."""
    regs = frame.regs
    matrix = frame.tiles.pop(slots, None)
    scales = np.broadcast_to(regs[scale], frame.shape).reshape(-1)[:: WARPS * LANES]
    if not scales.any():
        return None
    if matrix is None:
        known, matrix = frame.batch.state.get("accumulators", {}).get(slots, ((), None))
        if not known or any(regs[s] is not k for s, k in zip(slots, known, strict=True)):
            flat = [np.broadcast_to(regs[s], frame.shape).reshape(-1) for s in slots]
            matrix = core.accumulator(flat)
    if not scales.all():
        matrix = np.where(scales[:, None, None], matrix, matrix.dtype.type(0))
    return matrix

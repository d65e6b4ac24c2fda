"""Matrices in the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`.

Lane l names the row l % 8 of matrix l // 8; a row is 16 bytes. Of a matrix lane l holds the elements
2 * (l % 4) and the next of row l // 4, which is word l of the rows put one behind the other.
"""

from __future__ import annotations

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect, flow_parts
from blockstep.interp.ptx.frame import LANES, Bits, Frame, Mask
from blockstep.interp.ptx.isa.memory import SPACES
from blockstep.interp.ptx.isa.registry import Instruction, Unsupported, form
from blockstep.interp.ptx.isa.warps import EVERY, members, spread
from blockstep.interp.ptx.memory import item


def _form(i: Instruction, d: Decoder) -> tuple[int, str, bool]:
    """How many matrices, the space, and whether they are turned."""
    count = next((int(m[1:]) for m in i.modifiers if m in ("x1", "x2", "x4")), 0)
    if "m8n8" not in i.modifiers or i.types[-1:] != ("b16",) or not count:
        d.fail(i.name)
    space = next((SPACES[m] for m in i.modifiers if m in SPACES), "generic")
    return count, space, "trans" in i.modifiers


def _turned(rows: Bits, count: int) -> Bits:
    """(warps, rows of 8 halves) with every matrix transposed."""
    matrices = rows.view(np.uint16).reshape(len(rows), count, 8, 8)
    return np.ascontiguousarray(matrices.swapaxes(2, 3))


def _lanes(frame: Frame, count: int, mask: Mask) -> Bits | None:
    """The threads that name rows."""
    if count == 4:
        return mask
    naming = frame.full(frame.tid % LANES < 8 * count)
    return naming if mask is None else naming & mask


@effect("ldmatrix")
def load_matrices(i: Instruction, d: Decoder) -> Effect:
    """`ldmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16 r, [p]`."""
    count, space, trans = _form(i, d)
    address, place = d.address(i.operands[1]), d.place
    ends = i.operands[0] if isinstance(i.operands[0], tuple) else (i.operands[0],)
    puts = [d.result(end, "b32") for end in ends]

    def run(frame: Frame, mask: Mask) -> None:
        members(frame, mask, EVERY, place)
        naming = _lanes(frame, count, mask)
        items = frame.batch.memory.load(frame, space, address(frame), 16, naming, place)
        full = np.zeros(frame.shape, item(16))
        if naming is None:
            full[:] = items
        else:
            full[np.broadcast_to(naming, frame.shape)] = items
        rows = np.ascontiguousarray(frame.warps.to(full)[:, : 8 * count])
        words = (_turned(rows, count) if trans else rows).view(np.uint32)
        words = words.reshape(len(rows), count, LANES)
        for n, put in enumerate(puts):
            spread(frame, put, words[:, n], mask)

    return run


@effect("stmatrix")
def store_matrices(i: Instruction, d: Decoder) -> Effect:
    """`stmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16 [p], r`."""
    count, space, trans = _form(i, d)
    address, place = d.address(i.operands[0]), d.place
    given = i.operands[1] if isinstance(i.operands[1], tuple) else (i.operands[1],)
    sources = [d.source(one, "b32") for one in given]

    def run(frame: Frame, mask: Mask) -> None:
        members(frame, mask, EVERY, place)
        words = np.stack([frame.warps.to(frame.regs[s]) for s in sources], axis=1)
        rows = words.reshape(len(words), 8 * count, 4)
        if trans:
            rows = _turned(np.ascontiguousarray(rows), count).view(np.uint32).reshape(rows.shape)
        wide = np.zeros((len(words), LANES, 4), np.uint32)
        wide[:, : 8 * count] = rows
        items = frame.warps.back(wide.view(item(16))[..., 0])
        naming = _lanes(frame, count, mask)
        values = items if naming is None else frame.active(items, naming)
        frame.batch.memory.store(frame, space, address(frame), values, naming, place)

    return run


@effect("movmatrix")
def move_matrix(i: Instruction, d: Decoder) -> Effect:
    """`movmatrix.sync.aligned.m8n8.trans.b16 d, a`."""
    put, source, place = d.result(i.operands[0], "b32"), d.source(i.operands[1], "b32"), d.place

    def run(frame: Frame, mask: Mask) -> None:
        members(frame, mask, EVERY, place)
        rows = np.ascontiguousarray(frame.warps.to(frame.regs[source]))
        spread(frame, put, _turned(rows, 1).view(np.uint32).reshape(-1, LANES), mask)

    return run


@effect("mma")
def multiply(i: Instruction, d: Decoder) -> Effect:
    """`mma.sync.aligned...`: all lanes of every warp."""
    try:
        found = form(i)
    except Unsupported:
        return d.fail(i.name)
    given = [*flow_parts(i.operands[1:])]
    if len(given) != len(found.sources):
        d.fail(f"{i.name} with {len(given)} sources")
    sources = [d.source(o, t) for o, t in zip(given, found.sources, strict=True)]
    ends = zip(flow_parts(i.operands[:1]), found.results, strict=True)
    puts = [d.result(end, t) for end, t in ends]
    place = d.place

    def run(frame: Frame, mask: Mask) -> None:
        members(frame, mask, EVERY, place)
        rows = found.compute(*[frame.warps.to(frame.regs[s]) for s in sources])
        for put, row in zip(puts, rows, strict=True):
            spread(frame, put, row, mask)

    return run

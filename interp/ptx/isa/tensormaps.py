"""`tensormap`: maps that a kernel puts together, and the fences between them and the copy engine.

`tensormap.replace` writes one field of the 128 bytes, in shared or global memory;
`tensormap.cp_fenceproxy` copies them from shared to global memory, all lanes of a warp together. The
engine of a CTA sees them once a thread of it has run `fence.proxy.tensormap::generic.acquire`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.frame import LANES, Frame, Mask
from blockstep.interp.ptx.isa.copies import repeated
from blockstep.interp.ptx.isa.memory import SPACES
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.syntax import Immediate
from blockstep.interp.ptx.tensor_map import BYTES, FIELDS, WRITTEN, Made

_WORD = 8


@effect("tensormap")
def tensormap(i: Instruction, d: Decoder) -> Effect:
    """Both instructions."""
    if i.modifiers[:2] == ("replace", "tile"):
        return _replace(i, d)
    if i.modifiers[0] == "cp_fenceproxy":
        return _copy(i, d)
    return d.fail(i.name)


def _replace(i: Instruction, d: Decoder) -> Effect:
    """`tensormap.replace.tile.field.space.b1024.type [addr], {ordinal,} value`."""
    name = i.modifiers[2]
    space = next((SPACES[m] for m in i.modifiers if m in SPACES), "generic")
    if name not in FIELDS:
        d.fail(i.name)
    start, size, count, bit = FIELDS[name]
    address, index = d.address(i.operands[0]), 0
    if count > 1:
        ordinal = i.operands[1]
        if not isinstance(ordinal, Immediate) or not 0 <= ordinal.value < count:
            d.fail(f"{i.name} of another axis than 0 to {count - 1}")
        index = ordinal.value
    value, place = d.source(i.operands[-1], f"b{8 * size}"), d.place
    where, flag = start + index * size, np.uint32(1 << (bit + index))

    def run(frame: Frame, mask: Mask) -> None:
        memory, at = frame.batch.memory, address(frame)
        kind = at.dtype.type
        values = frame.full(frame.regs[value])
        values = values if mask is None else frame.active(values, mask)
        memory.store(frame, space, at + kind(where), values, mask, place)
        before = memory.load(frame, space, at + kind(WRITTEN), 4, mask, place)
        memory.store(frame, space, at + kind(WRITTEN), before | flag, mask, place)

    return run


def _copy(i: Instruction, d: Decoder) -> Effect:
    """`tensormap.cp_fenceproxy.global.shared::cta.… [dst], [src], 128`."""
    words = i.modifiers
    if words[1:3] != ("global", "shared::cta") or "release" not in words or "aligned" not in words:
        d.fail(i.name)
    if i.operands[2].value != BYTES:
        d.fail(f"{i.name} of {i.operands[2].value} bytes")
    to, source, place = d.address(i.operands[0]), d.address(i.operands[1]), d.place

    def run(frame: Frame, mask: Mask) -> None:
        batch = frame.batch
        if not _whole_warps(frame, mask):
            raise batch.trap(
                frame, "barrier", "a part of a warp at tensormap.cp_fenceproxy", mask, place
            )
        first = frame.full(frame.tid % LANES == 0) & (np.True_ if mask is None else mask)
        ends = [frame.active(end(frame).astype(np.int64), first) for end in (to, source)]
        cta, tid = frame.active(frame.cta, first), frame.active(frame.tid, first)
        many = repeated(frame, cta, tid, BYTES // _WORD)
        steps = np.arange(0, BYTES, _WORD, dtype=np.int64)
        far, near = ((end[:, None] + steps).reshape(1, -1) for end in ends)
        if (ends[0] % BYTES).any() or (ends[1] % BYTES).any():
            raise batch.trap(frame, "alignment", "a tensor map", mask, place)
        values: Any = batch.memory.load(many, "shared", near, _WORD, None, place)
        batch.memory.store(many, "global", far, values.reshape(far.shape), None, place)
        made = Made.of(batch)
        for address in np.unique(ends[0]).tolist():
            made.released(address)

    return run


def _whole_warps(frame: Frame, mask: Mask) -> bool:
    """Whether all lanes take part of each warp of which some do."""
    cta, tid = frame.active(frame.cta, mask), frame.active(frame.tid, mask)
    _, count = np.unique(cta * (1 << 16) + tid // LANES, return_counts=True)
    return bool((count == LANES).all())


def acquire(i: Instruction, d: Decoder) -> Effect:
    """`fence.proxy.tensormap::generic.acquire.scope [addr], 128`."""
    if i.operands[1].value != BYTES:
        d.fail(f"{i.name} of {i.operands[1].value} bytes")
    address = d.address(i.operands[0])

    def run(frame: Frame, mask: Mask) -> None:
        made = Made.of(frame.batch)
        at = frame.active(address(frame).astype(np.int64), mask)
        cta = frame.active(frame.cta, mask)
        for one in np.unique(at).tolist():
            made.acquired(one, cta[at == one])

    return run


__all__ = ["acquire", "tensormap"]

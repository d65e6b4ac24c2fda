"""Instructions of a warp: shuffles, votes, matches, reductions, `elect`.

The lanes that a member mask names must all be there: a lane that is elsewhere is a fault, and its
value is taken as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.faults import NotSupported, Place
from blockstep.interp.ptx.frame import LANES, Bits, Frame, Mask
from blockstep.interp.ptx.isa.registry import Instruction, form, unsigned

_LANE = np.arange(LANES)
_ALL = 0xFFFFFFFF
EVERY = np.full((1, 1), 0xFFFFFFFF, np.uint32)  # a member mask
_EVERYONE = np.ones((1, LANES), bool)


def spread(frame: Frame, put: Any, rows: Bits, mask: Mask) -> None:
    """Write a register from values by warp and lane."""
    shape = (len(frame.warps.warp), LANES)
    if rows.shape != shape:
        rows = np.ascontiguousarray(np.broadcast_to(rows, shape))
    full = frame.warps.back(rows)
    put(frame, full if mask is None else frame.active(full, mask), mask)


def present(frame: Frame, mask: Mask) -> Bits:
    """Which lanes run the instruction, by warp."""
    here = frame.warps.present
    if here is None and mask is None:
        return np.ones((1, LANES), bool)
    full = np.broadcast_to(np.True_ if mask is None else mask, frame.shape)
    return frame.warps.to(full)


def members(frame: Frame, mask: Mask, named: Bits, place: Place, same: bool = True) -> Bits:
    """The lanes of a member mask, by warp; tells of those that are not there. Raises NotSupported
    where lanes have different masks and `same` asks for one."""
    if mask is None and frame.warps.present is None and named.size == 1 and named.flat[0] == _ALL:
        return _EVERYONE
    here = present(frame, mask)
    masks = np.where(here, frame.warps.to(named), np.uint32(0))
    asked = np.bitwise_or.reduce(masks, axis=1, keepdims=True)
    if same and ((masks != asked) & here).any():
        raise NotSupported("member masks that differ within a warp", place)
    wanted = (asked >> _LANE.astype(asked.dtype)) & asked.dtype.type(1) != 0
    rows = frame.warps.warp[:, None] * LANES + _LANE < frame.batch.threads
    missing = (wanted & ~here & rows).any(axis=1, keepdims=True)
    if missing.any():
        wrong = frame.warps.back(np.broadcast_to(missing, (len(missing), LANES)))
        flags = wrong if mask is None else frame.active(wrong, mask)
        frame.batch.report(
            frame, "barrier", "lanes that are named are elsewhere", flags, mask, place
        )
    found: Bits = wanted & here
    return found


def _moves(mode: str, lane: Bits, b: Bits, segment: Bits, bound: Bits) -> tuple[Bits, Bits]:
    """The source lane, and whether it is in range (PTX, `shfl`)."""
    low = lane & segment
    high = low | (bound & ~segment)
    if mode == "up":
        source = lane - b
        return source, source >= high
    if mode == "down":
        source = lane + b
    elif mode == "bfly":
        source = lane ^ b
    else:
        source = low | (b & ~segment)
    return source, source <= high


@effect("shfl")
def shuffle(i: Instruction, d: Decoder) -> Effect:
    """`shfl.sync.mode.b32 d|p, a, b, c, membermask`."""
    mode = next((m for m in i.modifiers if m in ("up", "down", "bfly", "idx")), "")
    if not mode or "sync" not in i.modifiers:
        d.fail(i.name)
    pair = i.operands[0] if isinstance(i.operands[0], tuple) else (i.operands[0],)
    put = d.result(pair[0], "b32")
    put_valid = d.result(pair[1], "pred") if len(pair) > 1 else None
    a, b, c, named = (d.source(o, "b32") for o in i.operands[1:5])
    place = d.place

    def run(frame: Frame, mask: Mask) -> None:
        regs, warps = frame.regs, frame.warps
        here = members(frame, mask, regs[named], place, same=False)
        value = warps.to(regs[a])
        step, control = (_by_lane(frame, regs[s]) for s in (b, c))
        step = step & 31
        source, valid = _moves(mode, _LANE[None], step, control >> 8 & 31, control & 31)
        source = np.where(valid, source, _LANE[None])
        if not (here is _EVERYONE or here.all() or _there(here, source)):
            frame.batch.report(
                frame, "barrier", "a shuffle from a lane that is elsewhere", np.ones((1, 1), bool),
                None, place,
            )  # fmt: skip
        if len(source) == 1:
            taken = value.take(source[0], axis=1)
        else:
            taken = np.take_along_axis(value, source, 1)
        spread(frame, put, taken, mask)
        if put_valid is not None:
            spread(frame, put_valid, valid, mask)

    return run


def _by_lane(frame: Frame, x: Bits) -> Bits:
    """A register by warp and lane, or the one value of all."""
    return x.astype(np.int64) if x.size == 1 else frame.warps.to(x).astype(np.int64)


def _there(here: Bits, source: Bits) -> bool:
    rows = np.broadcast_shapes(here.shape, source.shape)
    there = np.take_along_axis(np.broadcast_to(here, rows), np.broadcast_to(source, rows), 1)
    return bool((there | ~np.broadcast_to(here, rows)).all())


def ballot(flags: Bits) -> Bits:
    """Lanes as the bits of one word, by warp."""
    words = np.packbits(flags, axis=1, bitorder="little")
    return np.ascontiguousarray(words).view(np.uint32)


@effect("vote")
def vote(i: Instruction, d: Decoder) -> Effect:
    """`vote.sync.mode d, a, membermask`."""
    mode = next((m for m in i.modifiers if m in ("all", "any", "uni", "ballot")), "")
    if not mode or "sync" not in i.modifiers:
        d.fail(i.name)
    put = d.result(i.operands[0], "b32" if mode == "ballot" else "pred")
    a, named, place = d.source(i.operands[1], "pred"), d.source(i.operands[2], "b32"), d.place

    def run(frame: Frame, mask: Mask) -> None:
        here = members(frame, mask, frame.regs[named], place)
        holds = frame.warps.to(frame.regs[a])
        every: Any = (holds | ~here).all(axis=1, keepdims=True)
        some = (holds & here).any(axis=1, keepdims=True)
        found: Any = {"all": every, "any": some, "uni": every | ~some}.get(mode)
        spread(frame, put, ballot(holds & here) if found is None else found, mask)

    return run


@effect("activemask")
def active_mask(i: Instruction, d: Decoder) -> Effect:
    """`activemask.b32 d`."""
    put = d.result(i.operands[0], "b32")

    def run(frame: Frame, mask: Mask) -> None:
        here = np.broadcast_to(present(frame, mask), (len(frame.warps.warp), LANES))
        spread(frame, put, ballot(here), mask)

    return run


@effect("match")
def match(i: Instruction, d: Decoder) -> Effect:
    """`match.any.sync.type d, a, membermask` and `match.all.sync.type d|p, ...`."""
    pair = i.operands[0] if isinstance(i.operands[0], tuple) else (i.operands[0],)
    put = d.result(pair[0], "b32")
    put_all = d.result(pair[1], "pred") if len(pair) > 1 else None
    a, named, place = d.source(i.operands[1], i.types[0]), d.source(i.operands[2], "b32"), d.place
    every = "all" in i.modifiers

    def run(frame: Frame, mask: Mask) -> None:
        here = members(frame, mask, frame.regs[named], place)
        value = frame.warps.to(frame.regs[a])
        same = (value[:, :, None] == value[:, None, :]) & here[:, None, :]
        if every:
            agree = (same | ~here[:, None, :]).all(axis=2) | ~here
            whole = agree.all(axis=1, keepdims=True)
            spread(frame, put, np.where(whole, ballot(here), np.uint32(0)), mask)
            if put_all is not None:
                spread(frame, put_all, whole, mask)
            return
        words = ballot(same.reshape(-1, LANES)).reshape(-1, LANES)
        spread(frame, put, words, mask)

    return run


_FOLDS: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip
_EMPTY = {"and": 0xFFFFFFFF, "or": 0, "xor": 0, "add": 0}


@effect("redux")
def reduce(i: Instruction, d: Decoder) -> Effect:
    """`redux.sync.op.type d, a, membermask`."""
    op = next((m for m in i.modifiers if m in (*_FOLDS, "add", "min", "max")), "")
    type = i.types[-1]
    put = d.result(i.operands[0], type)
    a, named, place = d.source(i.operands[1], type), d.source(i.operands[2], "b32"), d.place
    floats = type == "f32"
    wanted = tuple([m for m in i.modifiers if m not in ("sync", op, "abs")])
    step = None
    if floats:
        if op not in ("min", "max"):
            d.fail(i.name)
        step = form(Instruction(op, wanted, (type,), i.line, (None, None, None))).compute
    absolute = "abs" in i.modifiers
    if not op or (absolute and not floats):
        d.fail(i.name)

    def run(frame: Frame, mask: Mask) -> None:
        here = members(frame, mask, frame.regs[named], place)
        value = frame.warps.to(frame.regs[a])
        if absolute:
            value = value & np.uint32(0x7FFFFFFF)
        if step is not None:
            first = np.argmax(here, axis=1)[:, None]
            value = np.where(here, value, np.take_along_axis(value, first, 1))
            found = value[:, :1]
            for lane in range(1, LANES):
                found = step(found, value[:, lane : lane + 1])
            spread(frame, put, found, mask)
            return
        spread(frame, put, _folded(value, here, op, type), mask)

    return run


def _folded(value: Bits, here: Bits, op: str, type: str) -> Bits:
    if op in _FOLDS:
        value = np.where(here, value, np.uint32(_EMPTY[op]))
        return np.asarray(_FOLDS[op](value, axis=1, keepdims=True))
    if op == "add":
        found = np.where(here, value, np.uint32(0)).sum(axis=1, keepdims=True, dtype=np.uint32)
        return np.asarray(found)
    signed = value.view(np.int32) if type == "s32" else value
    limits = np.iinfo(signed.dtype)
    empty = signed.dtype.type(limits.max if op == "min" else limits.min)
    fold = np.min if op == "min" else np.max
    least: Bits = fold(np.where(here, signed, empty), axis=1, keepdims=True)
    return least.view(unsigned(type))


@effect("elect")
def elect(i: Instruction, d: Decoder) -> Effect:
    """`elect.sync d|p, membermask`: the first of the lanes."""
    lane, chosen = i.operands[0] if isinstance(i.operands[0], tuple) else (i.operands[0], None)
    put = d.result(lane, "b32")
    put_chosen = None if chosen is None else d.result(chosen, "pred")
    named, place = d.source(i.operands[1], "b32"), d.place

    def run(frame: Frame, mask: Mask) -> None:
        here = members(frame, mask, frame.regs[named], place)
        first = np.argmax(here, axis=1).astype(np.uint32)[:, None]
        spread(frame, put, first, mask)
        if put_chosen is not None:
            spread(frame, put_chosen, _LANE[None].astype(np.uint32) == first, mask)

    return run

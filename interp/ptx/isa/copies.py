"""`cp.async` in its groups, and bulk copies without a tensor map.

A copy is done when it is issued; when it *may be seen* is what `Groups` keeps: the group of each
copy, how many groups each thread has committed, and the epoch in which it waited for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import Batch
from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.frame import LANES, Bits, Frame, Mask
from blockstep.interp.ptx.isa.memory import SPACES
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.judging.bulk_writes import BulkWrites
from blockstep.interp.ptx.memory import item
from blockstep.interp.ptx.races import KEPT, WARPGROUP
from blockstep.interp.ptx.syntax import Address


class Groups:
    """The groups of asynchronous work of every thread of a batch: (CTAs, threads); of wgmma, of
    every warpgroup."""

    def __init__(self, batch: Batch, each: int = 1) -> None:
        shape = (batch.ctas, -(-batch.threads // each))
        self.committed = np.zeros(shape, np.int64)
        self.done = np.zeros(shape, np.int64)
        self.ended = np.zeros((*shape, KEPT), np.int64)
        self.met = np.zeros((*shape, KEPT), np.int64)  # the warp epochs that these were
        self.each = each

    @staticmethod
    def of(batch: Batch) -> Groups:
        """The groups of a batch."""
        found = batch.state.get("copy groups")
        if found is None:
            found = batch.state["copy groups"] = Groups(batch)
        groups: Groups = found
        return groups

    @staticmethod
    def of_bulk(batch: Batch) -> Groups:
        """The groups of bulk copies out of shared memory."""
        found = batch.state.get("bulk copies")
        if found is None:
            found = batch.state["bulk copies"] = Groups(batch)
        groups: Groups = found
        return groups

    @staticmethod
    def of_products(batch: Batch) -> Groups:
        """The groups of wgmma."""
        found = batch.state.get("products")
        if found is None:
            found = batch.state["products"] = Groups(batch, WARPGROUP)
        groups: Groups = found
        return groups

    def commit(self, cta: Bits, tid: Bits) -> None:
        """What was issued since the last commit is a group."""
        self.committed[cta, tid] += 1

    def wait(self, batch: Batch, cta: Bits, tid: Bits, left: int) -> None:
        """All groups but the last `left` are done."""
        target = self.committed[cta, tid] - left
        done = self.done[cta, tid]
        races = batch.state.get("races")
        if races is not None:
            for back in range(min(KEPT, int((target - done).max(initial=0)))):
                group = target - back
                new = group > done
                c, t = cta[new], tid[new]
                self.ended[c, t, group[new] % KEPT] = races.epoch[c, 0]
                self.met[c, t, group[new] % KEPT] = races.warp_epoch[c, t * self.each // LANES]
        self.done[cta, tid] = np.maximum(done, target)


@effect("cp")
def copy(i: Instruction, d: Decoder) -> Effect:
    """All instructions that begin with `cp`."""
    words = [m for m in i.modifiers if not m.startswith("L2::")]
    if "tensor" in words:
        from blockstep.interp.ptx.isa.tensors import tensor_copy

        return tensor_copy(i, d)
    if words[:1] == ["reduce"]:
        return d.fail(i.name)
    if "commit_group" in words or "wait_group" in words or "wait_all" in words:
        return _group(i, d, words)
    if words[:2] == ["async", "mbarrier"]:
        from blockstep.interp.ptx.isa.mbarriers import arrive_after_copies

        return arrive_after_copies(i, d)
    if words[:2] == ["async", "bulk"]:
        return _bulk(i, d, words)
    return _small(i, d, words)


def _group(i: Instruction, d: Decoder, words: list[str]) -> Effect:
    which = Groups.of_bulk if "bulk" in words else Groups.of
    left = i.operands[0].value if "wait_group" in words else 0
    commits = "commit_group" in words
    bulk, reads = "bulk" in words, "read" in words

    def run(frame: Frame, mask: Mask) -> None:
        groups, order = which(frame.batch), frame.batch.order
        cta, tid = frame.active(frame.cta, mask), frame.active(frame.tid, mask)
        if commits or "wait_all" in words:
            groups.commit(cta, tid)
            if order is not None and not bulk:
                order.copies_committed(cta, tid, groups)
        if commits:
            return
        groups.wait(frame.batch, cta, tid, left)
        writes = frame.batch.state.get("bulk writes")
        if bulk and not reads and writes is not None:
            writes.waited(cta, tid, groups.committed[cta, tid] - left)
        if order is not None and bulk:
            order.bulk_waited(cta, tid, groups.done[cta, tid])
        elif order is not None:
            order.copies_waited(cta, tid, groups, left)

    return run


def _small(i: Instruction, d: Decoder, words: list[str]) -> Effect:
    """`cp.async.ca.shared.global [dst], [src], size{, source size}`."""
    if words[0] != "async" or words[1] not in ("ca", "cg"):
        d.fail(i.name)
    to, source, size = d.address(i.operands[0]), d.address(i.operands[1]), i.operands[2].value
    place, kind = d.place, item(size)
    hinted = any("cache_hint" in m for m in i.modifiers)
    rest = i.operands[3 : len(i.operands) - hinted]
    ignored = rest[0] if rest and getattr(rest[0], "type", "") == "pred" else None
    ignore = None if ignored is None else d.source(ignored, "pred")
    given = d.source(rest[0], "u32") if rest and ignored is None else None

    def run(frame: Frame, mask: Mask) -> None:
        memory = frame.batch.memory
        Groups.of(frame.batch)
        length: Any = size if given is None else frame.regs[given]
        if ignore is not None:
            length = np.where(frame.regs[ignore], 0, size)
        values = np.zeros(frame.shape, kind)
        lengths = np.broadcast_to(length, frame.shape)
        wanted = np.broadcast_to(np.True_ if mask is None else mask, frame.shape)
        whole = wanted & (lengths == size)
        if whole.all():
            values[:] = memory.load(frame, "global", source(frame), size, None, place)
        elif whole.any():
            values[whole] = memory.load(frame, "global", source(frame), size, whole, place)
        bytes_of = values.view(np.uint8).reshape(*frame.shape, size)
        part = wanted & (lengths > 0) & ~whole
        for n in range(int(lengths[part].max(initial=0))):
            here = part & (lengths > n)
            address = source(frame) + np.uint64(n)
            bytes_of[..., n][here] = memory.load(frame, "global", address, 1, here, place)
        memory.store(
            frame, "shared", to(frame), frame.active(values, mask) if mask is not None else values,
            mask, place, "async",
        )  # fmt: skip

    return run


def repeated(frame: Frame, cta: Bits, tid: Bits, count: int) -> Frame:
    """A frame in which each of some threads stands `count` times: an element each."""
    return Frame(
        frame.batch, frame.regs, np.repeat(cta, count)[None], np.repeat(tid, count)[None], True
    )


def _bulk(i: Instruction, d: Decoder, words: list[str]) -> Effect:
    """`cp.async.bulk.dst.src.completion [dst], [src], size{, [mbar]}`: in chunks of 16 bytes."""
    from blockstep.interp.ptx.isa.mbarriers import Mbarriers, located

    if words[2] == "prefetch":
        return lambda frame, mask: None
    if "multicast::cluster" in words:
        d.fail(i.name)
    spaces = [SPACES[w] for w in words[2:4] if w in SPACES]
    if len(spaces) != 2:
        d.fail(i.name)
    to, source = d.address(i.operands[0]), d.address(i.operands[1])
    size, place = d.source(i.operands[2], "u32"), d.place
    signal = next((d.address(o) for o in i.operands[3:] if isinstance(o, Address)), None)

    def run(frame: Frame, mask: Mask) -> None:
        cta, tid = frame.active(frame.cta, mask), frame.active(frame.tid, mask)
        sizes = frame.active(frame.regs[size], mask)
        at = None if signal is None else located(frame, signal(frame), mask)
        ends = frame.active(to(frame), mask), frame.active(source(frame), mask)
        for n in range(cta.size):
            count = int(sizes[n]) // 16
            many = repeated(frame, cta[n : n + 1], tid[n : n + 1], count)
            step = np.arange(count, dtype=np.int64)[None] * 16
            low, high = (int(end[n]) + step for end in ends)
            told = None if at is None else (at[0][n : n + 1], at[1][n : n + 1])
            memory, out = many.batch.memory, spaces[1] == "shared"
            with frame.batch.signalled(told, count):
                if out:
                    Groups.of_bulk(many.batch)
                values = memory.load(
                    many, spaces[1], high, 16, None, place, "bulk" if out else "read"
                )
                how = "engine" if spaces[0] == "shared" else "write"
                if spaces[0] == "shared":
                    memory.store(many, spaces[0], low, values, None, place, how)
                    continue
                whole = np.ones(many.shape, bool)
                with BulkWrites.told(many, low.reshape(many.shape), whole, 16, "", place):
                    memory.store(many, spaces[0], low, values, None, place, how)
        if at is not None:
            Mbarriers.of(frame.batch).complete(frame, at, sizes.astype(np.int64), mask, place)

    return run


__all__ = ["Groups", "repeated"]

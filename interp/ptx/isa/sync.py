"""Barriers that do not wait, fences, and instructions about the running of threads themselves.

What waits (`bar.sync`, `barrier.cluster.wait`, `bar.warp.sync`) ends a block, and `divergence` has it.
"""

from __future__ import annotations

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.frame import Frame, Mask
from blockstep.interp.ptx.gates import NUMBERS
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.isa.tensormaps import acquire
from blockstep.interp.ptx.isa.warps import EVERY, members


@effect("bar", "barrier")
def arrive(i: Instruction, d: Decoder) -> Effect:
    """`bar.arrive a, b` counts the threads; `barrier.cluster.arrive` does for a cluster's barrier."""
    place = d.place
    if "cluster" in i.modifiers:
        relaxed, aligned = "relaxed" in i.modifiers, "aligned" in i.modifiers

        def run_cluster(frame: Frame, mask: Mask) -> None:
            if aligned and mask is not None:
                members(frame, mask, EVERY, place)
            elif aligned:
                frame.batch.state["scheduler"].check_aligned(frame, place)
            frame.batch.state["scheduler"].cluster_arrive(frame, mask, relaxed)

        return run_cluster
    number, count = d.source(i.operands[0], "u32"), d.source(i.operands[1], "u32")

    def run(frame: Frame, mask: Mask) -> None:
        if mask is not None:
            raise frame.batch.trap(
                frame, "barrier", "threads of one warp disagree about a barrier", mask, place
            )
        frame.batch.state["scheduler"].check_aligned(frame, place)
        keys = frame.full(frame.cta * NUMBERS + frame.regs[number]).reshape(-1)
        frame.batch.state["scheduler"].arrive(frame, keys, frame.regs[count], place)

    return run


@effect("membar", "fence", "griddepcontrol", "pmevent")
def fence(i: Instruction, d: Decoder) -> Effect:
    """Memory is in order anyway, and no other grid runs; only tensor maps have to be acquired. What
    a fence orders, races tell."""
    if "tensormap::generic" in i.modifiers and "acquire" in i.modifiers:
        return acquire(i, d)
    words = set(i.modifiers)
    between = "proxy" in words and any(m.split("::")[0] == "async" for m in words)
    shared = "global" not in words
    outside = not any(m.startswith("shared") for m in words)

    def run(frame: Frame, mask: Mask) -> None:
        state, order = frame.batch.state, frame.batch.order
        if between:
            told = (order, state.get("races")) if shared else ()
            for one in (*told, state.get("bulk writes") if outside else None):
                if one is not None:
                    one.fence(frame, mask)
        elif "mbarrier_init" in words and order is not None:
            order.publish(frame, mask)

    return run


@effect("nanosleep")
def sleep(i: Instruction, d: Decoder) -> Effect:
    """Time goes on; whoever sleeps waits for somebody."""
    source = d.source(i.operands[0], "u32")

    def run(frame: Frame, mask: Mask) -> None:
        frame.batch.time += int(frame.active(frame.regs[source], mask).max())
        frame.batch.asked(True, True)

    return run


@effect("setmaxnreg")
def registers(i: Instruction, d: Decoder) -> Effect:
    """`setmaxnreg.inc/dec.sync.aligned n`: n is 24 to 256 in steps of 8, and all warps of a
    warpgroup run it."""
    count, place = i.operands[0].value, d.place
    if count % 8 or not 24 <= count <= 256:
        d.fail(f"setmaxnreg with {count} registers")

    def run(frame: Frame, mask: Mask) -> None:
        warps = frame.warps
        if mask is not None or warps.present is not None or warps.warp.size % 4:
            frame.batch.report(
                frame, "barrier", "a part of a warpgroup at setmaxnreg", np.ones((1, 1), bool),
                None, place,
            )  # fmt: skip

    return run


@effect("trap", "brkpt")
def trap(i: Instruction, d: Decoder) -> Effect:
    """The kernel gives up."""
    place = d.place

    def run(frame: Frame, mask: Mask) -> None:
        raise frame.batch.trap(frame, "trap", "the kernel ran a trap", mask, place)

    return run

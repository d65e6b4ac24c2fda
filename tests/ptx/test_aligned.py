"""Instructions that all lanes of a warp have to run together, and half of a warp at them."""

from __future__ import annotations

import pytest

from blockstep.interp.ptx.faults import Report, Trap
from blockstep.interp.ptx.machine import run_ptx
from tests.ptx.programs import kernel, kinds

BEGIN = (
    ".shared .align 128 .b8 memory[4096]; mov.u32 %r2, memory; shl.b32 %r3, %r0, 4; "
    "add.u32 %r4, %r2, %r3; mov.u32 %r5, 0; mov.u32 %r6, 0; st.shared.v4.u32 [%r4], {%r5, %r5, %r5, %r5}; "
    "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; bar.sync 0;\n"
)
ALIGNED = [
    "bar.sync 1, 128;",
    "bar.arrive 1, 256;",
    "barrier.sync.aligned 1, 128;",
    "barrier.cluster.arrive.aligned;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r5};",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r6;",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r5, %r6}, {%r5}, "
    "{%f0, %f1, %f2, %f3};",
    "setmaxnreg.inc.sync.aligned.u32 232;",
    "wgmma.fence.sync.aligned;",
    "shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1;",
    "vote.sync.any.pred %p3, %p1, -1;",
    "redux.sync.add.u32 %r5, %r6, -1;",
    "elect.sync %r5|%p3, -1;",
]


def found(body: str) -> set[str]:
    """The kinds of what 128 threads meet."""
    report = Report()
    try:
        run_ptx(kernel(BEGIN + body, 0), "kernel", (1,), (128,), [], report=report)
    except Trap:
        pass
    return set(kinds(report))


@pytest.mark.parametrize("one", ALIGNED, ids=[a.partition(" ")[0].rstrip(";") for a in ALIGNED])
def test_half_of_a_warp_at_an_aligned_instruction_is_told(one: str) -> None:
    half = f"and.b32 %r7, %r0, 16; setp.eq.u32 %p1, %r7, 0; @!%p1 bra past;\n{one}\npast:"
    assert "barrier" in found(half)
    assert found(f"setp.eq.u32 %p1, %r0, 0;\n{one}") == set()


def test_lanes_that_have_ended_are_not_missed_at_a_barrier() -> None:
    ended = "and.b32 %r7, %r0, 16; setp.ne.u32 %p1, %r7, 0; @%p1 ret;\n"
    assert found(ended + "bar.sync 0;") == set()

"""CTAs and threads that go different ways, and the registers that they take with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.interp.ptx.host import stretches
from tests.ptx.programs import run

SHARED = ".shared .align 4 .b8 memory[512];"
WAYS = [{}, {"judged": False}, {"compiled": True}, {"batch_threads": 64}]

# CTA c turns c % 4 + 1 times; every turn the threads hand their numbers round through shared memory.
ROUND = """
    mov.u32 %r2, %ctaid.x;
    and.b32 %r3, %r2, 3;
    add.u32 %r3, %r3, 1;
    mov.u32 %r4, memory;
    shl.b32 %r5, %r0, 2;
    add.u32 %r5, %r4, %r5;
    add.u32 %r6, %r0, 1;
    and.b32 %r6, %r6, 63;
    shl.b32 %r6, %r6, 2;
    add.u32 %r6, %r4, %r6;
    mad.lo.u32 %r1, %r2, 1000, %r0;
    mov.u32 %r7, 0;
turn:
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    ld.shared.u32 %r8, [%r6];
    bar.sync 0;
    mad.lo.u32 %r1, %r8, 3, %r7;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, %r3;
    @%p1 bra turn;
"""
# The odd threads of a CTA go another way every turn, and all count whose numbers are large.
COUNTED = """
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r1, 0;
    mov.u32 %r7, 0;
turn:
    and.b32 %r8, %r0, 1;
    setp.eq.u32 %p2, %r8, 1;
    @%p2 bra odd;
    add.u32 %r1, %r1, 100;
    bra met;
odd:
    mad.lo.u32 %r1, %r1, 5, %r7;
met:
    setp.gt.u32 %p3, %r1, 150;
    bar.red.popc.u32 %r9, 0, %p3;
    add.u32 %r1, %r1, %r9;
    add.u32 %r7, %r7, 1;
    setp.le.u32 %p1, %r7, %r2;
    @%p1 bra turn;
"""
STORE = """
    mov.u32 %r20, %ntid.x;
    mov.u32 %r21, %ctaid.x;
    mad.lo.u32 %r22, %r21, %r20, %r0;
    mul.wide.u32 %d1, %r22, 4;
    add.u64 %d1, %d1, %d0;
    st.global.u32 [%d1], %r1;
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host code is made when a stretch first comes."""
    monkeypatch.setattr(stretches, "HOT", 0)


def left(body: str, ctas: int, options: dict[str, Any]) -> Any:
    out = np.zeros((ctas, 64), np.uint32)
    report = run(body + STORE, out, globals=SHARED, ctas=ctas, threads=64, **options)
    assert report.faults == []
    return out


@pytest.mark.parametrize("options", WAYS, ids=["judged", "plain", "host", "alone"])
def test_ctas_that_turn_differently_often_keep_their_numbers(options: dict[str, Any]) -> None:
    expected = np.zeros((13, 64), np.uint32)
    for cta in range(13):
        x = np.arange(64, dtype=np.uint32) + np.uint32(1000 * cta)
        for turn in range(cta % 4 + 1):
            x = np.roll(x, -1) * np.uint32(3) + np.uint32(turn)
        expected[cta] = x
    np.testing.assert_array_equal(left(ROUND, 13, options), expected)


@pytest.mark.parametrize("options", WAYS, ids=["judged", "plain", "host", "alone"])
def test_threads_apart_meet_at_a_barrier_that_counts_them(options: dict[str, Any]) -> None:
    expected = np.zeros((9, 64), np.uint32)
    odd = np.arange(64) % 2 == 1
    for cta in range(9):
        x = np.zeros(64, np.uint32)
        for turn in range(cta + 1):
            x = np.where(odd, x * np.uint32(5) + np.uint32(turn), x + np.uint32(100))
            x += np.uint32(np.count_nonzero(x > 150))
        expected[cta] = x
    np.testing.assert_array_equal(left(COUNTED, 9, options), expected)

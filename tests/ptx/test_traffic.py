"""What requests cost: the cases that everybody knows."""

from __future__ import annotations

import numpy as np
import pytest

from blockstep.interp.ptx.traffic import Cost, Traffic
from tests.ptx.programs import run

SHARED = ".shared .align 16 .b8 memory[8192]; mov.u32 %r2, memory;"


def cost(body: str, *arrays: object) -> Cost:
    """The cost of the last line that touches memory."""
    traffic = Traffic()
    run(body, *arrays, watchers=[traffic])
    return list(traffic.costs.values())[-1]


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (4, 4), (8, 8), (32, 32), (64, 32)])
def test_sectors_grow_with_the_stride(stride: int, sectors: int) -> None:
    x = np.zeros(4096, np.uint8)
    body = f"mad.wide.u32 %d3, %r0, {stride}, %d0;\n ld.global.u32 %r1, [%d3];"
    assert cost(body, x).taken == sectors


@pytest.mark.parametrize(
    ("stride", "wavefronts"), [(0, 1), (4, 1), (8, 2), (128, 32), (132, 1), (16, 4)]
)
def test_banks_meet_at_powers_of_two(stride: int, wavefronts: int) -> None:
    body = SHARED + f"mad.lo.u32 %r4, %r0, {stride}, %r2;\n st.shared.u32 [%r4], %r0;"
    found = cost(body)
    assert (found.requests, found.taken, found.least) == (1, wavefronts, 1)


def test_vectors_come_in_quarters() -> None:
    body = (
        SHARED
        + """mad.lo.u32 %r4, %r0, 16, %r2;
        st.shared.v4.u32 [%r4], {%r0, %r0, %r0, %r0};"""
    )
    assert (cost(body).taken, cost(body).least) == (4, 4)

"""What is undefined stays so when its elements move, and masks only excuse their own lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import agree


@triton.jit
def transposed(x, o, N: tl.constexpr, TURN: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    mask = tl.load(x + at) > 3
    v = tl.load(x + at, mask=mask)
    if TURN:
        mask = tl.trans(mask)
    tl.store(o + at, tl.trans(v), mask=mask)


@triton.jit
def across(x, o, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, N)
    mask = tl.load(x + i) > 3
    v = tl.load(x + i, mask=mask)
    wide = tl.broadcast_to(v[:, None], (N, N))
    over = mask[:, None] if AXIS == 0 else mask[None, :]
    tl.store(o + i[:, None] * N + i[None, :], wide, mask=tl.broadcast_to(over, (N, N)))


@triton.jit
def splatted(x, o, n, N: tl.constexpr, GUARDED: tl.constexpr):
    i, p = tl.arange(0, N), tl.program_id(0)
    on = tl.load(x + p) > 3
    v = tl.load(x + p, mask=on)
    if GUARDED:
        tl.store(o + p * N + i, v, mask=(i < n) & on)
    else:
        tl.store(o + p * N + i, v, mask=i < n)


@pytest.mark.parametrize("turn", [False, True])
def test_a_transposed_block_needs_the_transposed_mask(turn: bool) -> None:
    x = np.arange(16, dtype=np.int32) % 7
    found = agree(transposed, (1,), x, np.zeros(16, np.int32), N=4, TURN=turn)
    assert (not found.findings) == turn
    assert found.on_grid == turn


@pytest.mark.parametrize("axis", [0, 1])
def test_a_mask_of_rows_does_not_excuse_columns(axis: int) -> None:
    x = np.array([1, 9, 9, 2], np.int32)
    found = agree(across, (1,), x, np.zeros(16, np.int32), N=4, AXIS=axis)
    assert (not found.findings) == (axis == 0)


@pytest.mark.parametrize("guarded", [False, True])
def test_a_scalar_that_is_undefined_in_some_programs(guarded: bool) -> None:
    x = np.array([1, 9, 9, 2], np.int32)
    found = agree(splatted, (4,), x, np.zeros(32, np.int32), 8, N=8, GUARDED=guarded)
    assert (not found.findings) == guarded
    assert found.on_grid == guarded


@triton.jit
def greatest(x, o, n, COUNT: tl.constexpr):
    p = tl.program_id(0)
    far = n
    for _ in range(tl.load(x + p)):
        far = far * COUNT
    tl.store(o + p, tl.load(x + tl.maximum(p * 0, far) * 0 + p))


@pytest.mark.parametrize("factor", [1, -65536])
def test_the_greater_of_a_wrapped_value(factor: Any) -> None:
    x = np.array([1, 3, 0, 2], np.int32)
    agree(greatest, (4,), x, np.zeros(4, np.int32), 4096, COUNT=factor)

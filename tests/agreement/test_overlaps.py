"""Stores of one program instance over its own: clean for the same lane, or where nothing changes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import agree


@triton.jit
def twice(
    x, o, n, m, N: tl.constexpr, SHIFT: tl.constexpr, VALUE: tl.constexpr, DENSE: tl.constexpr
):
    i = tl.arange(0, N)
    base = o + tl.program_id(0) * 2 * N
    tl.store(base + i, 1, mask=i < n)
    at = i + SHIFT
    if DENSE:
        at = tl.load(x + i) + SHIFT
    tl.store(base + at, VALUE, mask=i < m)


@triton.jit
def back(o, out, n, m, N: tl.constexpr, SHIFT: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.program_id(0)
    tl.store(o + p * 2 * N + i, 1, mask=i < n)
    tl.store(out + p * N + i, tl.load(o + p * 2 * N + i + SHIFT, mask=i < m, other=0))


@triton.jit
def rows(o, n, N: tl.constexpr, STRIDE: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = o + i * STRIDE + j
    tl.store(at, i * N + j)
    tl.store(at, (i * N + j) * 2, mask=j < n)


@pytest.mark.parametrize(("n", "m"), [*product([0, 3, 8], repeat=2)])
@pytest.mark.parametrize(("shift", "value"), [*product([0, 2, 8], [1, 2])])
@pytest.mark.parametrize("dense", [False, True])
def test_a_store_over_a_store(n: int, m: int, shift: Any, value: Any, dense: Any) -> None:
    x = np.arange(8, dtype=np.int32)
    found = agree(
        twice, (3,), x, np.zeros(48, np.int32), n, m, N=8, SHIFT=shift, VALUE=value, DENSE=dense
    )
    kinds = {finding[0] for finding in found.findings}
    meet = shift < n and 0 < m
    assert ("overlap" in kinds) == (meet and shift > 0 and value == 2)
    changed_by_address = meet and dense and shift == 0 and value == 2  # lanes are not compared
    assert found.on_grid == ("overlap" not in kinds and not changed_by_address)


@pytest.mark.parametrize(("n", "m"), [*product([3, 8], repeat=2)])
@pytest.mark.parametrize("shift", [0, 2])
def test_a_load_of_what_was_stored(n: int, m: int, shift: Any) -> None:
    agree(back, (3,), np.zeros(48, np.int32), np.zeros(24, np.int32), n, m, N=8, SHIFT=shift)


@pytest.mark.parametrize(("stride", "clean"), [(4, True), (5, True), (3, False), (0, False)])
def test_rows_that_lie_on_each_other_are_other_lanes(stride: Any, clean: bool) -> None:
    found = agree(rows, (1,), np.zeros(32, np.int32), 2, N=4, STRIDE=stride)
    assert (not found.findings) == clean
    assert found.on_grid == clean

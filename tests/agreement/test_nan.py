"""NaN that matters is told alike by every machine, and NaN that is discarded leaves the grid machine
alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import agree, on_grid

NAN, INF = np.nan, np.inf


@triton.jit
def difference(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    tl.store(o + i, a - b, mask=i < n)


@triton.jit
def thresholds(x, o, B: tl.constexpr, HOW: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + p * B + i)
    if HOW == "mask":
        tl.store(o + p * B + i, 1.0, mask=v > 0.5)
    elif HOW == "both":
        tl.store(o + p * B + i, 1.0, mask=(v > 0.5) & (i < 2))
    elif HOW == "branch":
        if tl.sum(v) > 0.5:
            tl.store(o + p * B + i, 1.0)
    elif HOW == "count":
        if tl.sum((v > 0.5).to(tl.int32)) > 2:
            tl.store(o + p * B + i, 1.0)
    elif HOW == "loop":
        total = tl.sum(v)
        while total < 2.0:
            total += 1.0
        tl.store(o + p * B + i, 1.0)
    elif HOW == "offset":
        tl.store(o + p * B + i - (v < 0.5).to(tl.int32) // 2, 1.0)
    elif HOW == "choice":
        tl.store(o + p * B + i, tl.where(v > 0.5, v, 0.0))
    elif HOW == "index":
        tl.store(o + p * B + i, tl.where(v > 0.5, i, 0))
    elif HOW == "number":
        tl.store(o + p * B + i, v, mask=v == v)
    elif HOW == "finite":
        tl.store(o + p * B + i, v, mask=tl.abs(v) < float("inf"))
    elif HOW == "greatest":
        tl.store(o + p * B + i, tl.maximum(v, 0.0))


@triton.jit
def constants(o):
    x = tl.full((), float("nan"), tl.float32)
    if x > 0.5:
        tl.store(o, 1.0)
    if x:
        tl.store(o, 2.0)


@triton.jit
def add(x, o, B: tl.constexpr):
    tl.atomic_add(o + tl.arange(0, B), tl.load(x + tl.program_id(0) * B + tl.arange(0, B)))


@triton.jit
def add_rows(x, o, B: tl.constexpr):
    """The sums wait for the end of the batch, since nobody uses the old values."""
    for k in range(2):
        at = (tl.program_id(0) * 2 + k) * B + tl.arange(0, B)
        tl.atomic_add(o + tl.arange(0, B), tl.load(x + at))


def kinds(found: Any) -> list[str]:
    return [f[0] for f in found.findings]


def block(count: int, **at: float) -> Any:
    """Ones, with other values at `e3=nan`."""
    x = np.ones(count, np.float32)
    for name, value in at.items():
        x[int(name[1:])] = value
    return x


@pytest.mark.parametrize("batch", [None, 1, 3])
def test_a_stored_difference_of_infinities(batch: int | None) -> None:
    x, y = block(45, e17=INF, e40=INF), block(45, e17=INF, e40=-INF)
    found = agree(
        difference, (6,), x, y, np.zeros(45, np.float32), 45, B=8, batch=batch, precision=True
    )
    assert kinds(found) == ["precision"]
    assert found.findings[0][8] == (2, 0, 0) and found.findings[0][5] == ((17,),)


def test_the_same_difference_is_nobodys_business_unasked() -> None:
    x = block(45, e17=INF)
    on_grid(difference, (6,), x, x.copy(), np.zeros(45, np.float32), 45, B=8)


def test_infinities_stay_on_the_grid_machine() -> None:
    x, y = block(45, e17=INF), block(45, e17=-INF)
    on_grid(difference, (6,), x, y, np.zeros(45, np.float32), 45, B=8, precision=True)


def test_nan_that_is_masked_off_stays_on_the_grid_machine() -> None:
    x = block(64, e45=NAN, e50=NAN)
    on_grid(difference, (6,), x, block(64), np.zeros(64, np.float32), 45, B=8, precision=True)


@pytest.mark.parametrize("how", ["mask", "branch", "count", "loop", "offset"])
def test_a_comparison_with_nan_that_decides(how: str) -> None:
    x = block(16, e6=NAN)
    found = agree(thresholds, (4,), x, np.zeros(16, np.float32), B=4, HOW=how, precision=True)
    assert set(kinds(found)) == {"precision"}
    assert all(f[8] == (1, 0, 0) for f in found.findings)


def test_a_mask_that_is_off_there_anyway() -> None:
    x = block(16, e6=NAN)
    on_grid(thresholds, (4,), x, np.zeros(16, np.float32), B=4, HOW="both", precision=True)


@pytest.mark.parametrize("how", ["choice", "index", "number", "finite", "greatest"])
def test_a_comparison_that_only_chooses_stays_on_the_grid_machine(how: str) -> None:
    x = block(16, e6=NAN)
    out = np.zeros(16, np.int32 if how == "index" else np.float32)
    on_grid(thresholds, (4,), x, out, B=4, HOW=how, precision=True)


def test_a_constant_nan_that_decides_is_not_folded() -> None:
    found = agree(constants, (1,), np.zeros(1, np.float32), precision=True)
    assert kinds(found) == ["precision", "precision"]


@pytest.mark.parametrize("was", [0.0, NAN])
def test_an_atomic_sum(was: float) -> None:
    x = block(16, e2=INF, e10=-INF)
    found = agree(add, (4,), x, block(4, e3=was), B=4, precision=True)
    assert set(kinds(found)) == {"precision"}
    assert found.findings[0][8] == ((0, 0, 0) if np.isnan(was) else (2, 0, 0))
    unasked = agree(add, (4,), x, block(4, e3=was), B=4)
    assert not unasked.findings


def test_an_atomic_sum_in_a_loop() -> None:
    x = block(32, e2=INF, e10=-INF)
    found = agree(add_rows, (4,), x, block(4), B=4, precision=True)
    assert kinds(found) == ["precision"]
    on_grid(add_rows, (4,), block(32, e2=INF), block(4), B=4, precision=True)
    on_grid(add_rows, (4,), x, block(4), B=4)

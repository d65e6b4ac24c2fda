"""What is undefined stays so when its elements move, and masks only excuse their own lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import Outcome, agree, on_grid


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


def is_clean(found: Outcome) -> bool:
    """Whether there is no finding but notes on idle program instances."""
    return {finding[0] for finding in found.findings} <= {"grid"}


@triton.jit
def counted(o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, (i < n).to(tl.int32))


def test_a_rectangle_as_numbers() -> None:
    on_grid(counted, (1,), np.zeros(8, np.int32), 3, N=8)


@triton.jit
def discarded(x, o, n, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    row, column = i[:, None], i[None, :]
    inside = row < n
    v = tl.load(x + row * N + column, mask=inside)
    if HOW == "sum":
        tl.store(o + i, tl.sum(v, axis=1), mask=i < n)
    elif HOW == "wrong sum":
        tl.store(o + i, tl.sum(v, axis=0), mask=i < n)
    elif HOW == "scan":
        tl.store(o + row * N + column, tl.cumsum(v, axis=0), mask=inside)
    elif HOW == "reverse scan":
        tl.store(o + row * N + column, tl.cumsum(v, axis=0, reverse=True), mask=inside)
    elif HOW == "where":
        tl.store(o + row * N + column, tl.where(column < n, 0, v), mask=inside | (column < n))
    elif HOW == "wrong where":
        tl.store(o + row * N + column, tl.where(column < n, v, 0))
    elif HOW == "times zero":
        tl.store(o + row * N + column, v * tl.where(inside, 1, 0))
    elif HOW == "reshape":
        flat = tl.arange(0, N * N)
        tl.store(o + flat, tl.reshape(v, (N * N,)), mask=flat < n * N)
    elif HOW == "wrong reshape":
        flat = tl.arange(0, N * N)
        tl.store(o + flat, tl.reshape(v, (N * N,)), mask=flat < n * N + 1)
    elif HOW == "dot":
        w = tl.load(x + row * N + column)
        tl.store(o + row * N + column, tl.dot(v.to(tl.float32), w.to(tl.float32)), mask=inside)
    elif HOW == "wrong dot":
        w = tl.load(x + row * N + column)
        tl.store(o + row * N + column, tl.dot(w.to(tl.float32), v.to(tl.float32)), mask=inside)
    elif HOW == "argmax":
        tl.store(o + i, tl.argmax(v, axis=1), mask=i < n)
    elif HOW == "histogram":
        tl.store(o + i, tl.histogram(tl.reshape(v, (N * N,)), N))
    elif HOW == "gather":
        tl.store(o + row * N + column, tl.gather(v, (column + row) % 4, 1), mask=inside)
    elif HOW == "wrong gather":
        tl.store(o + row * N + column, tl.gather(v, (column + row) % N, 0), mask=inside)


CLEAN = ["sum", "scan", "where", "times zero", "reshape", "dot", "argmax", "gather"]
WRONG = ["wrong sum", "reverse scan", "wrong where", "wrong reshape", "wrong dot", "histogram",
         "wrong gather"]  # fmt: skip


@pytest.mark.parametrize("how", [*CLEAN, *WRONG])
@pytest.mark.parametrize("n", [0, 5, 16])
def test_undefined_elements_that_meet_and_move(how: Any, n: int) -> None:
    x = np.arange(256, dtype=np.int32) % 7
    found = agree(discarded, (1,), x, np.zeros(256, np.int32), n, N=16, HOW=how)
    assert found.on_grid == is_clean(found)
    if n == 5:
        assert is_clean(found) == (how in CLEAN)


@triton.jit
def hashed(x, o, n, SINK: tl.constexpr, KIND: tl.constexpr):
    p = tl.program_id(0)
    h = tl.load(x + p).to(KIND) * 2654435761 + n
    if SINK == "store":
        tl.store(o + p, h.to(tl.int32, bitcast=True) if KIND == tl.uint32 else h.to(tl.int32))
    elif SINK == "bits":
        tl.store(o + p, tl.load(x + ((h ^ (h >> 16)) & 3)))
    elif SINK == "address":
        tl.store(o + p, tl.load(x + h % 4))
    elif SINK == "branch":
        if h > 5:
            tl.store(o + p, 1)
        else:
            tl.store(o + p, 2)
    elif SINK == "bound":
        for _ in range(h & 1, h % 2 + 2):
            tl.store(o + p, 1)


@pytest.mark.parametrize("sink", ["store", "bits", "address", "branch", "bound"])
@pytest.mark.parametrize("kind", [tl.int32, tl.uint32, tl.int64, tl.uint64])
@pytest.mark.parametrize("last", [1, 3, 1 << 30])
def test_a_wrapped_product(sink: Any, kind: Any, last: int) -> None:
    x = np.array([0, 1, 1, last], np.int32)
    found = agree(hashed, (4,), x, np.zeros(4, np.int32), 7, SINK=sink, KIND=kind)
    assert found.on_grid == is_clean(found)


@triton.jit
def merged(x, o, n, m, GUARDED: tl.constexpr):
    p = tl.program_id(0)
    v = tl.load(x + p, mask=p < n)
    w = 0
    if p < m:
        w = v + 1
    tl.store(o + p, w, mask=(p < n) if GUARDED else (p >= 0))


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(("n", "m"), [(4, 8), (4, 4), (6, 2), (8, 3)])
def test_an_undefined_value_out_of_a_branch_that_some_take(n: int, m: int, guarded: Any) -> None:
    x = np.arange(8, dtype=np.int32)
    found = agree(merged, (8,), x, np.zeros(8, np.int32), n, m, GUARDED=guarded)
    assert found.on_grid == is_clean(found)
    assert is_clean(found) == (guarded or m <= n)


@triton.jit
def divided(x, y, o, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    q = a // b if HOW != "shift" else a << b
    if HOW == "where":
        tl.store(o + i, tl.where(b != 0, q, 0))
    elif HOW == "shift":
        tl.store(o + i, q, mask=(b >= 0) & (b < 32))
    elif HOW == "mask":
        tl.store(o + i, q, mask=b != 0)
    else:
        tl.store(o + i, q)


@pytest.mark.parametrize("how", ["where", "shift", "mask", "unguarded"])
def test_divisions_and_shifts_of_which_some_are_thrown_away(how: Any) -> None:
    x, y = np.arange(8, dtype=np.int32), np.array([0, 1, 2, 0, 40, -3, 31, 32], np.int32)
    found = agree(divided, (1,), x, y, np.zeros(8, np.int32), N=8, HOW=how)
    assert is_clean(found) == (how != "unguarded")
    assert found.on_grid == is_clean(found)

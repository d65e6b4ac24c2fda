"""Kernels with loops, branches and blocks that change their layout on the way, compiled and run lane
by lane in NumPy, leave the bytes that the step machine leaves; and no lane meets another's access
to memory without a barrier."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.lower import Options, module
from tests.compiler.run_lowered import compiled
from tests.compiler.simt import simulate
from tests.compiler.simulated import simulating
from tests.compiler.watched import Wrong

RNG = np.random.default_rng(5)
Array = np.ndarray[Any, Any]


def integers(*shape: int, low: int = -50, kind: Any = np.int32) -> Array:
    return RNG.integers(low, 50, shape).astype(kind)


def zeros(*shape: int, kind: Any = np.int32) -> Array:
    return np.zeros(shape, kind)


@triton.jit
def sums_of_both_axes(x, out, n, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    block, row = tl.zeros((R, C), tl.int32), tl.zeros((C,), tl.int32)
    for k in range(n):
        block += tl.load(x + k + i[:, None] * C + j[None, :])
        row += tl.sum(block, 0)
        if k % 2 == 1:
            block = block * 2 - row[None, :]
        else:
            block = block - tl.max(block, 1)[:, None]
    tl.store(out + i[:, None] * C + j[None, :], block + row[None, :])


@triton.jit
def while_positive(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v, k = tl.load(x + i), 0
    while (tl.sum(v) > 0) & (k < n):
        v = tl.flip(v, 0) - 1
        k += 1
        if k == 3:
            v = tl.cumsum(v, 0) % 7
    tl.store(out + i, v + k)


@triton.jit
def downwards(x, out, n, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, M)
    v = tl.load(x + i[:, None] * M + j[None, :])
    best = tl.full((N,), -1, tl.int32)
    for k in range(n, 0, -2):
        best = tl.maximum(best, tl.max(v * k, 1))
        v = tl.trans(tl.trans(v) + best[None, :])
    tl.store(out + i, best + tl.sum(v, 1))


@triton.jit
def chosen_pointers(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    each = tl.where(i % 3 == 0, x + i, y + (N - 1 - i))
    one = x
    if n > 2:
        one = y
    tl.store(out + i, tl.load(each) + tl.load(one + i))
    tl.store(each, tl.load(out + N - 1 - i), mask=i < N // 2)


@triton.jit
def masks_of_runs(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    inside = (i // 4) < 5 * n
    seen = tl.load(x + i, mask=inside, other=-3) + inside.to(tl.int32)
    tl.store(out + i, seen, mask=(i // 8) < 5 * n)


@triton.jit
def in_place(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(n):
        mine, other = tl.load(x + i), tl.load(x + (i ^ 1))
        total = tl.sum(mine, 0)
        tl.store(x + i, tl.where(mine > other, mine - other, other) + total % 5)


@triton.jit
def walking(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(n):
        at = x + i + k
        tl.store(at, tl.load(at) * 3 + k)


@triton.jit
def loops_in_loops(x, out, n, m, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for a in range(n):
        inner = tl.load(x + i)
        for b in range(a, m):
            if (b & 1) == 0:
                inner = tl.flip(inner, 0) + b
                total += tl.cumsum(inner, 0)
            else:
                inner = inner - tl.max(total, 0)
        total = total ^ inner
    tl.store(out + i, total)


@triton.jit
def several_results(x, out, n, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, M)
    v = tl.load(x + i[:, None] * M + j[None, :])
    if n > 1:
        a, row, column = tl.trans(v), tl.sum(v, 0), tl.sum(v, 1)
    else:
        a, row, column = tl.reshape(v, (M, N)), tl.max(v, 0), tl.min(v, 1)
    tl.store(out + j[:, None] * N + i[None, :], a + row[:, None] + column[None, :])


@triton.jit
def scalars(x, out, n, N: tl.constexpr):
    first = tl.load(x)
    tl.store(out + tl.arange(0, 1), tl.full((1,), first, tl.int32) + tl.load(x + n))
    tl.store(out + 1, tl.sum(tl.load(x + tl.arange(0, N))) * first)
    tl.store(out + 2, tl.load(out) + 1)


@triton.jit
def moved_about(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    left, right = tl.split(tl.reshape(tl.load(x + i) + n, (N // 2, 2)))
    turned = tl.permute(tl.reshape(tl.join(right, left), (2, N // 4, 2)), (2, 0, 1))
    rows = tl.reshape(turned, (N // 8, 8))
    tl.store(out + i, tl.reshape(tl.trans(rows - tl.sum(rows, 0)[None, :]), (N,)))


@triton.jit
def places(x, out, n, A: tl.constexpr, B: tl.constexpr):
    i, j = tl.arange(0, A), tl.arange(0, B)
    v = tl.load(x + i[:, None] * B + j[None, :]) % (n + 2)
    most, at = tl.max(v, 1, return_indices=True)
    tl.store(out + i, most * 100 + at)
    tl.store(out + A + j, tl.argmin(v, 0))


CASES: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
    (sums_of_both_axes, (integers(16 * 32 + 8), zeros(16, 32)), (16, 32)),
    (while_positive, (integers(64, low=0), zeros(64)), (64,)),
    (downwards, (integers(8, 16), zeros(8)), (8, 16)),
    (chosen_pointers, (integers(128), integers(128), zeros(128)), (128,)),
    (masks_of_runs, (integers(256), zeros(256)), (256,)),
    (in_place, (integers(512),), (512,)),
    (walking, (integers(512),), (256,)),
    (several_results, (integers(8, 16), zeros(16, 8)), (8, 16)),
    (scalars, (integers(64), zeros(3)), (64,)),
    (moved_about, (integers(256), zeros(256)), (256,)),
    (places, (integers(8, 32, low=0), zeros(40)), (8, 32)),
    (places, (integers(128, 4, low=0), zeros(132)), (128, 4)),
]


def run(kernel: Any, arrays: tuple[Array, ...], *told: Any, warps: tuple[int, ...]) -> None:
    chosen = [Options(num_warps=n, target=t) for n in warps for t in ("sm_80", "sm_90a")]
    with simulating(*chosen) as seen, triton.machine("step"):
        kernel[(1,)](*(array.copy() for array in arrays), *told)
    assert seen.compared == len(chosen)


@pytest.mark.parametrize("trips", [0, 1, 5])
@pytest.mark.parametrize(("kernel", "arrays", "sizes"), CASES)
def test_a_kernel(kernel: Any, arrays: tuple[Array, ...], sizes: Any, trips: int) -> None:
    run(kernel, arrays, trips, *sizes, warps=(1, 2, 16))


@pytest.mark.parametrize("trips", [0, 3])
def test_loops_in_loops(trips: int) -> None:
    run(loops_in_loops, (integers(64), zeros(64)), trips, 4, 64, warps=(1, 4, 32))


@triton.jit
def place_among_equals(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    _, at = tl.max(tl.load(x + i), 0, return_indices=True, return_indices_tie_break_left=False)
    tl.store(out + i, at + i * 0)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("n", [32, 256])
def test_all_lanes_see_one_place_of_a_maximum_among_equals(n: int, warps: int) -> None:
    """Which one it is nobody promises; a branch on it must be the same branch for all lanes."""
    x, out = np.ones(n, np.int32), zeros(n)
    module = compiled(place_among_equals, [x, out], (n,), Options(num_warps=warps))
    simulate(module, [x, out], warps)
    assert len(set(out.tolist())) == 1 and 0 <= out[0] < n


@triton.jit
def product(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    q, m, n, k = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    q = q[:, None, None]
    x = tl.load(a + q * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + q * K * N + k[None, :, None] * N + n[None, None, :])
    s = tl.dot(x, y, input_precision="ieee")
    tl.store(out + q * M * N + m[None, :, None] * N + n[None, None, :], s)


@pytest.mark.parametrize(
    "sizes", [(1, 16, 16, 16), (4, 16, 16, 16), (2, 32, 8, 16), (1, 1, 64, 32)]
)
def test_products_without_a_matrix_unit(sizes: tuple[int, ...]) -> None:
    """All sums are integers, so that their order does not show."""
    batch, m, n, k = sizes
    a, b = (integers(batch, *s, kind=np.float32) for s in ((m, k), (k, n)))
    out = zeros(batch, m, n, kind=np.float32)
    run(product, (a, b, out), *sizes, warps=(1, 4, 16))


def test_the_machine_sees_a_missing_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its barriers a lane reads what another wrote."""
    text = module._text

    def without(*told: Any) -> str:
        return re.sub(r"\n  call void @llvm.nvvm.barrier.cta.*", "", text(*told))

    monkeypatch.setattr(module, "_text", without)
    with pytest.raises(Wrong, match="without a barrier"):
        run(walking, (integers(512),), 3, 256, warps=(4,))

"""Kernels in which planted bugs of the compiler show. `#! name` marks a line that a test names."""

from __future__ import annotations

from pathlib import Path

import blockstep as triton
import blockstep.language as tl


def line_of(mark: str) -> int:
    """The line of this file that is marked so."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"#! {mark}")]
    return found


@triton.jit
def arithmetic(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x * 0.0)  #! times zero
    tl.store(out_ptr + BLOCK + offs, x - x)  #! minus itself
    tl.store(out_ptr + 2 * BLOCK + offs, x + 0.0)  #! plus zero


@triton.jit
def constants(out_ptr, BLOCK: tl.constexpr):
    one = tl.full((BLOCK,), 1.0, tl.float32)
    tiny = tl.full((BLOCK,), 7e-8, tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), (one + tiny) - one)  #! folded


@triton.jit
def two_ranges(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = tl.load(x_ptr + tl.arange(BLOCK, 2 * BLOCK))  #! other range
    tl.store(out_ptr + tl.arange(0, BLOCK), x - y)


@triton.jit
def store_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, before * 2)
    after = tl.load(x_ptr + offs)  #! load after the store
    tl.store(out_ptr + offs, before + after)


@triton.jit
def guarded_load(x_ptr, out_ptr, trips, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(trips):
        total += tl.load(x_ptr + offs)  #! load in the loop
        tl.store(x_ptr + offs, total)
    tl.store(out_ptr + offs, total)


@triton.jit
def counted(count_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_add(count_ptr + offs % 4, 1)  #! atomic
    tl.store(out_ptr + offs, offs)


@triton.jit
def row_sum(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * COLUMNS + tl.arange(0, COLUMNS))
    tl.store(out_ptr + row, tl.sum(x, axis=0))  #! sum


@triton.jit
def prefix(x_ptr, out_ptr, COLUMNS: tl.constexpr):
    offs = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.cumsum(x, axis=0, reverse=True))  #! scan


@triton.jit
def transposed(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    y = tl.trans(x)
    tl.store(out_ptr + columns[:, None] * M + rows[None, :], y + 1)


@triton.jit
def masked(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)  #! masked load
    tl.store(out_ptr + offs, x * 2, mask=offs < n)  #! masked store


@triton.jit
def strided(x_ptr, out_ptr, step, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * step)  #! strided load
    tl.store(out_ptr + offs, x)


@triton.jit
def shifted(x_ptr, out_ptr, start, BLOCK: tl.constexpr):
    offs = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #! shifted load
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@triton.jit
def integers(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    quotient = x // y  #! division
    less = (x < y).to(tl.int32)  #! comparison
    tl.store(out_ptr + offs, quotient)
    tl.store(out_ptr + BLOCK + offs, less)


@triton.jit
def backwards(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + BLOCK - 1 - offs)
    tl.store(out_ptr + BLOCK + (offs - BLOCK), x)


@triton.jit
def to_fp8(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = x.to(tl.float8e4nv, fp_downcast_rounding="rtz")  #! to fp8
    tl.store(out_ptr + offs, y.to(tl.float32))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
    c = tl.dot(a, b)  #! product
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c)


@triton.jit
def precise_product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
    c = tl.dot(a, b, input_precision="tf32x3")  #! tf32x3
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, k_total, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, k_total, K):
        keep = k + rk < k_total
        a = tl.load(a_ptr + rm[:, None] * k_total + (k + rk)[None, :], mask=keep[None, :], other=0)
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :], mask=keep[:, None], other=0)
        acc = tl.dot(a, b, acc)  #! product in the loop
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def boxes(a_desc, b_desc, c_ptr, k_total, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, k_total, K):
        acc = tl.dot(a_desc.load([0, k]), b_desc.load([k, 0]), acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def read_back(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1)
    x = tl.load(out_ptr + BLOCK - 1 - offs)  #! read back
    tl.store(out_ptr + BLOCK + offs, x)


@triton.jit(noinline=True)
def difference(a, b):
    return a - b


@triton.jit
def calling(x_ptr, out_ptr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, difference(tl.load(x_ptr + row), tl.load(x_ptr + 4 + row)))  #! call


@triton.jit
def _open(x, y):
    return x + y - x * y


@triton.jit
def guarded_by_a_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """The terms of the sum cancel: another order of them gives another mask."""
    offs = tl.arange(0, BLOCK)
    on = tl.reduce(offs.to(tl.float32), 0, _open) < 0.0
    x = tl.load(x_ptr + offs, mask=on, other=0.0)
    tl.store(out_ptr + offs, tl.where(x == x, 1.0, 2.0))


@triton.jit
def false_promise(out_ptr, n, BLOCK: tl.constexpr):
    """What LLVM makes of it never ends."""
    small = n > n
    for _ in range(tl.program_id(0) % 3):
        small = small | (n > 100)
    tl.assume(small)
    tl.store(out_ptr + tl.arange(0, BLOCK), n)


@triton.jit
def sum_that_overflows(sums_ptr, BLOCK: tl.constexpr):
    r = tl.reduce(tl.arange(0, BLOCK).to(tl.float64), 0, _open)
    tl.atomic_add(sums_ptr + tl.program_id(0), r)


@triton.jit
def overwritten_in_place(x_ptr, BLOCK: tl.constexpr):
    """Read by all lanes, twice, and then written by one."""
    offs = tl.arange(0, BLOCK)
    one = tl.load(x_ptr + 3)
    x = tl.load(x_ptr + offs)
    tl.debug_barrier()
    tl.store(x_ptr + offs, x + one)

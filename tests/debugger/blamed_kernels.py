"""Kernels whose elements have a past that one can tell by hand."""

from __future__ import annotations

import blockstep as triton
import blockstep.language as tl


@triton.jit
def scaled(x, s):
    return x * s


@triton.jit
def chosen(x_ptr, y_ptr, out_ptr, n, s, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=-1.0)
    y = scaled(x, s)
    z = tl.where(y > 1.0, y, x)
    tl.store(out_ptr + offs, z, mask=offs < n)


@triton.jit
def logs(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.log(x)
    z = y + x
    tl.store(out_ptr + offs, z)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BK: tl.constexpr):
    rm, rk = tl.arange(0, N), tl.arange(0, BK)
    a = a_ptr + rm[:, None] * K + rk[None, :]
    b = b_ptr + rk[:, None] * N + rm[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for _k in range(0, K, BK):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += BK
        b += BK * N
    tl.store(c_ptr + rm[:, None] * N + rm[None, :], acc)


@triton.jit
def reduced(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.max(x, axis=0))
    tl.store(out_ptr + 1, tl.argmax(x, axis=0).to(tl.float32))
    tl.store(out_ptr + 2, tl.sum(x, axis=0))
    tl.store(out_ptr + 4 + tl.arange(0, N), tl.cumsum(x, axis=0))


@triton.jit
def sorted_row(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), tl.sort(x))


@triton.jit
def counted(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    h = tl.histogram(x, BINS)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), h)


@triton.jit
def lanes(out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(out_ptr + i % 2, i + 1)
    tl.store(out_ptr + 2 + i, old)


@triton.jit
def tickets(count_ptr, out_ptr):
    place = tl.atomic_add(count_ptr, 1)
    tl.store(out_ptr + place, tl.program_id(0) * 10)


@triton.jit
def one_counter(count_ptr, x_ptr):
    tl.atomic_add(count_ptr, tl.load(x_ptr))


@triton.jit
def relay(x_ptr):
    i = tl.program_id(0)
    v = tl.load(x_ptr + i)
    tl.store(x_ptr + i + 1, v + 1)


@triton.jit
def doubled(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    k = 0
    while k < n:
        x = tl.load(x_ptr + offs)
        tl.store(x_ptr + offs, x * 2)
        k += 1


@triton.jit
def carried(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        acc += tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@triton.jit
def gathered(table_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    i = tl.load(index_ptr + offs)
    tl.store(out_ptr + offs, tl.load(table_ptr + i))


@triton.jit
def described(x_desc, out_desc, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK
    out_desc.store([i, 0], x_desc.load([i, 0]) * 2)


@triton.jit
def unfilled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + 1)


@triton.jit
def narrowed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, (x.to(tl.float32) * 2).to(tl.bfloat16).to(out_ptr.dtype.element_ty))


@triton.jit
def failing(x_ptr, out_ptr):
    i = tl.program_id(0)
    tl.store(out_ptr + i, tl.load(x_ptr + i))
    if i == 1:
        tl.store(x_ptr, tl.arange(0, 4))

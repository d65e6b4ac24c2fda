"""Kernels whose derived bounds are tested, in the form that people write them."""

from __future__ import annotations

from typing import Any

import blockstep as triton
import blockstep.language as tl
from blockstep.language.extra import libdevice

library: Any = libdevice  # its functions are made when it is imported


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def layer_norm(x, w, b, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(c < n, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(
        out + row * n + c,
        d * r * tl.load(w + c, mask=c < n) + tl.load(b + c, mask=c < n),
        mask=c < n,
    )


@triton.jit
def matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr,
    FAULT: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + at[None, :])
        if FAULT == "swap":  # a wrong fragment: two neighbouring elements of k in one row
            at = tl.where(k == 0, at ^ (at < 2).to(tl.int32), at)
        right = tl.load(b + at[:, None] * N + n[None, :])
        if FAULT == "drop":
            left = tl.where(k == BK, 0.0, left).to(left.dtype)
        acc = (acc + tl.dot(left, right)).to(ACC)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def attention(
    q, k, v, out, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ACC: tl.constexpr,
    FAULT: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), ACC)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for s in range(0, S, BN):
        n = s + tl.arange(0, BN)
        keys = tl.load(k + n[None, :] * D + d[:, None])
        if FAULT == "swap":
            n = tl.where(s == 0, n ^ (n < s + 2).to(tl.int32), n)
        values = tl.load(v + n[:, None] * D + d[None, :])
        scores = tl.dot(queries, keys) * scale
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        if FAULT == "drop":
            p = tl.where(s == BN, 0.0, p)
        old = tl.exp2(top - new)
        total = total * old + tl.sum(p, 1)
        acc = (acc * old[:, None] + tl.dot(p.to(v.dtype.element_ty), values)).to(ACC)
        top = new
    tl.store(out + m[:, None] * D + d[None, :], acc / total[:, None])


@triton.jit
def argmax_rows(x, y, at, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.exp(tl.load(x + row * n + c)) * tl.load(y + c)
    tl.store(at + row, tl.argmax(v, axis=0))


@triton.jit
def column_sums(x, out, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.atomic_add(out + c, tl.load(x + tl.program_id(0) * n + c))


@triton.jit
def least(x, out, BLOCK: tl.constexpr):
    tl.atomic_min(out + tl.program_id(0), tl.load(x + tl.program_id(0)) * 1.0)


@triton.jit
def whole_parts(x, out, BLOCK: tl.constexpr):
    v = tl.exp(tl.load(x + tl.arange(0, BLOCK))).to(tl.int32)
    tl.atomic_max(out + tl.arange(0, BLOCK) // 2, v)


@triton.jit
def lengths(x, y, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, library.hypot(tl.load(x + c), tl.load(y + c)))


@triton.jit
def less_one(x, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, library.expm1(tl.load(x + c)))


@triton.jit
def whole_powers(x, n, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, library.pow(tl.load(x + c), tl.load(n + c)))


@triton.jit
def inverse_roots(x, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, tl.rsqrt(tl.load(x + c)))


@triton.jit
def rounded_products(x, y, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, library.mul_rn(tl.load(x + c), tl.load(y + c)))


@triton.jit
def tickets(counter, out):
    tl.store(out + tl.atomic_add(counter, 1), tl.program_id(0))


@triton.jit
def branch(x, out, LIMIT: tl.constexpr):
    p = tl.program_id(0)
    v = tl.exp(tl.load(x + p))
    if v > LIMIT:
        tl.store(out + p, 1.0)
    else:
        tl.store(out + p, -1.0)


@triton.jit
def multiply_add(x, y, z, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * tl.load(y + i) + tl.load(z + i))


@triton.jit
def relu_of_difference(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    d = tl.exp(tl.load(x + i)) - tl.load(y + i)
    tl.store(out + i, tl.where(d > 0, d, 0.0))


@triton.jit
def to_integers(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i)).to(tl.int32))


@triton.jit
def row_sum(x, out, BLOCK: tl.constexpr):
    tl.store(
        out + tl.program_id(0),
        tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), axis=0),
    )


@triton.jit
def linear_recurrence(a, x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)

    _, h = tl.associative_scan((tl.load(a + i), tl.load(x + i)), 0, step)
    tl.store(out + i, h)


@triton.jit
def step(a1, x1, a2, x2):
    return a1 * a2, a2 * x1 + x2

"""Kernels that the compiler pipelines: loops of products with copies that run ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.descriptor import TensorDescriptor

Array = np.ndarray[Any, Any]


@triton.jit
def product(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Nothing masked; the sums go round the loop."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    p = tl.program_id(0)
    at = a + (p * BM + rm[:, None]) * n + rk[None, :]
    bt = b + rk[:, None] * BN + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(trips):
        acc = tl.dot(tl.load(at), tl.load(bt), acc)
        at += BK
        bt += BK * BN
    tl.store(c + (p * BM + rm[:, None]) * BN + rn[None, :], acc)


@triton.jit
def masked(a, b, c, rows, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The last block of k is a part, and so are the last rows."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    rm += tl.program_id(0) * BM
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, n, BK):
        inside = rk < n - k
        on = (rm[:, None] < rows) & inside[None, :]
        x = tl.load(a + rm[:, None] * n + k + rk[None, :], mask=on, other=0.0)
        y = tl.load(b + (k + rk[:, None]) * BN + rn[None, :], mask=inside[:, None], other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc, mask=rm[:, None] < rows)


@triton.jit
def uneven(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Program instances take different numbers of turns, some of them none."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    p = tl.program_id(0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(p % 5):
        x = tl.load(a + (p * BM + rm[:, None]) * n + k * BK + rk[None, :])
        y = tl.load(b + (k * BK + rk[:, None]) * BN + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + (p * BM + rm[:, None]) * BN + rn[None, :], acc)


@triton.jit
def twice(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A loop in a loop: the ring is used again, as a persistent kernel does."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    for p in range(2):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(trips):
            x = tl.load(a + (p * BM + rm[:, None]) * n + k * BK + rk[None, :])
            y = tl.load(b + (k * BK + rk[:, None]) * BN + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + (p * BM + rm[:, None]) * BN + rn[None, :], acc)


@triton.jit
def scaled(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One factor is copied ahead, the other computed in each turn."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(trips):
        x = tl.load(a + rm[:, None] * n + k * BK + rk[None, :])
        y = tl.load(b + (k * BK + rk[:, None]) * BN + rn[None, :])
        acc = tl.dot(x, y * 2, acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def boxes(a, b, c, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors that the host made: the copy engine's work."""
    p = tl.program_id(0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(trips):
        acc = tl.dot(a.load([p * BM, k * BK]), b.load([k * BK, 0]), acc)
    c.store([p * BM, 0], acc)


@triton.jit
def made(a, b, c, rows, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors that the kernel makes, of the rows that each program instance has."""
    p = tl.program_id(0)
    first = a + tl.multiple_of(p * BM * n, 16)
    left = tl.make_tensor_descriptor(first, [rows - p * BM, n], [n, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [n, BN], [BN, 1], [BK, BN])
    sums = tl.make_tensor_descriptor(c, [rows, BN], [BN, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(trips):
        acc = tl.dot(left.load([0, k * BK]), right.load([k * BK, 0]), acc)
    sums.store([p * BM, 0], acc)


@triton.jit
def deep(a, b, c, rows, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Blocks of three and four axes, of which two are left for the product."""
    right = tl.make_tensor_descriptor(
        b, [2, 2, BN, n], [2 * BN * n, BN * n, n, 1], [1, 2, BN // 2, BK]
    )
    batch = tl.program_id(0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, n, BK):
        x = a.load([batch, 8, k]).reshape(BM, BK)
        y = right.load([batch, 0, BN // 4, k]).reshape(BN, BK)
        acc = tl.dot(x, y.T, acc)
    c.store([batch, 0, 0], acc.reshape(1, BM, BN))


@triton.jit
def persistent(
    a, b, c, rows, n, tiles, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    HALVES: tl.constexpr,
):  # fmt: skip
    """Each program instance multiplies several blocks of rows, and stores one while it goes on."""
    left = tl.make_tensor_descriptor(a, [rows, n], [n, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [n, BN], [BN, 1], [BK, BN])
    sums = tl.make_tensor_descriptor(c, [rows, BN], [BN, 1], [BM, BN // 2 if HALVES else BN])
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, n, BK):
            acc = tl.dot(left.load([tile * BM, k]), right.load([k, 0]), acc)
        if HALVES:
            halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
            first, second = tl.split(halves)
            sums.store([tile * BM, 0], first.to(tl.float16))
            sums.store([tile * BM, BN // 2], second.to(tl.float16))
        else:
            sums.store([tile * BM, 0], acc.to(tl.float16))


@triton.jit
def grouped(a, b, c, sizes, n, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A descriptor for each turn of a loop, some of arrays without rows."""
    start = 0
    for g in range(groups):
        rows = tl.load(sizes + g)
        left = tl.make_tensor_descriptor(a + start * n, [rows, n], [n, 1], [BM, BK])
        right = tl.make_tensor_descriptor(b, [n, BN], [BN, 1], [BK, BN])
        sums = tl.make_tensor_descriptor(c + start * BN, [rows, BN], [BN, 1], [BM, BN])
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, n, BK):
            acc = tl.dot(left.load([0, k]), right.load([k, 0]), acc)
        sums.store([0, 0], acc)
        start += rows


@triton.jit
def transposed(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The second factor lies the other way round in memory."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(trips):
        x = tl.load(a + rm[:, None] * n + k * BK + rk[None, :])
        y = tl.load(b + rn[:, None] * n + k * BK + rk[None, :])
        acc = tl.dot(x, tl.trans(y), acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def chained(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each turn multiplies what the one before stored: no load of `a` may run ahead of it."""
    rm, rk = tl.arange(0, BM), tl.arange(0, BK)
    for k in range(trips):
        x = tl.load(a + (k * BM + rm[:, None]) * BK + rk[None, :])
        y = tl.load(b + rk[:, None] * BK + rk[None, :])
        z = tl.dot(x, y).to(tl.float16)
        tl.store(a + ((k + 1) * BM + rm[:, None]) * BK + rk[None, :], z)


@triton.jit
def backwards(a, b, c, n, step, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Which way the loop goes is known to the launch alone."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for end in range(n, 0, step):
        x = tl.load(a + rm[:, None] * n + (end - BK + rk)[None, :])
        y = tl.load(b + (end - BK + rk)[:, None] * BN + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def written(a, b, c, n, trips, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each turn stores, but elsewhere."""
    rm, rk = tl.arange(0, BM), tl.arange(0, BK)
    for k in range(trips):
        x = tl.load(a + (k * BM + rm[:, None]) * BK + rk[None, :])
        y = tl.load(b + rk[:, None] * BK + rk[None, :])
        tl.store(c + (k * BM + rm[:, None]) * BK + rk[None, :], tl.dot(x, y))


@triton.jit
def attention(q, k, v, out, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Two products of an iteration, the first of which the second needs."""
    rm, rn, rd = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    rm += tl.program_id(0) * BM
    x = tl.load(q + rm[:, None] * D + rd[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        y = tl.load(k + (start + rn[None, :]) * D + rd[:, None])
        s = tl.dot(x, y)
        new = tl.maximum(most, tl.max(s, 1))
        weight = tl.exp2(s - new[:, None])
        scale = tl.exp2(most - new)
        total = total * scale + tl.sum(weight, 1)
        z = tl.load(v + (start + rn[:, None]) * D + rd[None, :])
        acc = tl.dot(weight.to(tl.float16), z, acc * scale[:, None])
        most = new
    tl.store(out + rm[:, None] * D + rd[None, :], acc / total[:, None])


def numbers(*shape: int) -> Array:
    """Small random numbers, the same ones each time."""
    return np.random.default_rng(len(shape)).integers(-4, 5, shape).astype(np.float16)


Launch = tuple[Any, Any, tuple[Any, ...], dict[str, Any]]


def _sums(rows: int, columns: int) -> Array:
    return np.zeros((rows, columns), np.float32)


def turns(trips: int, stages: int, warps: int = 4) -> Launch:
    """A loop of so many turns, pipelined with so many slots."""
    a, b = numbers(128, 32 * max(trips, 1)), numbers(32 * max(trips, 1), 64)
    arguments = (a, b, _sums(128, 64), a.shape[1], trips, 64, 64, 32)
    return product, (2,), arguments, {"num_stages": stages, "num_warps": warps}


def _masked() -> Launch:
    return masked, (2,), (numbers(96, 80), numbers(80, 64), _sums(96, 64), 96, 80, 64, 64, 32), {}


def _uneven() -> Launch:
    a, b = numbers(7 * 64, 128), numbers(128, 64)
    return uneven, (7,), (a, b, _sums(7 * 64, 64), 128, 64, 64, 32), {}


def _twice() -> Launch:
    a, b = numbers(128, 160), numbers(160, 64)
    return twice, (1,), (a, b, _sums(128, 64), 160, 5, 64, 64, 32), {}


def _scaled() -> Launch:
    a, b = numbers(64, 192), numbers(192, 64)
    return scaled, (1,), (a, b, _sums(64, 64), 192, 6, 64, 64, 32), {}


def _backwards() -> Launch:
    a, b = numbers(64, 192), numbers(192, 64)
    return backwards, (1,), (a, b, _sums(64, 64), 192, -32, 64, 64, 32), {}


def _stored(kernel: Any) -> Launch:
    a, b = numbers(5 * 64, 32), np.eye(32, dtype=np.float16)
    return kernel, (1,), (a, b, _sums(4 * 64, 32), 32, 4, 64, 32, 32), {}


def _boxes(trips: int) -> Launch:
    """The last rows, and the last columns of the factor, lie outside of the arrays."""
    a, b, c = numbers(120, 32 * trips + 24), numbers(32 * trips + 24, 64), _sums(120, 64)
    shapes = (a, [64, 32]), (b, [32, 64]), (c, [64, 64])
    given = [TensorDescriptor.from_tensor(array, shape) for array, shape in shapes]
    return boxes, (2,), (*given, trips + 1, 64, 64, 32), {}


def _made(trips: int) -> Launch:
    """Rows and columns outside of the arrays, as in `_boxes`."""
    a, b, c = numbers(120, 32 * trips + 16), numbers(32 * trips + 16, 64), _sums(120, 64)
    return made, (2,), (a, b, c, 120, a.shape[1], trips + 1, 64, 64, 32), {}


def _deep() -> Launch:
    a, b, c = numbers(2, 70, 96), numbers(2, 2, 64, 96), np.zeros((2, 64, 64), np.float32)
    given = [
        TensorDescriptor.from_tensor(array, [1, 64, block]) for array, block in ((a, 32), (c, 64))
    ]
    return deep, (2,), (given[0], b, given[1], 70, 96, 64, 64, 32), {}


def _persistent(halves: bool) -> Launch:
    a, b = numbers(300, 96), numbers(96, 64)
    sums = np.zeros((300, 64), np.float16)
    return persistent, (2,), (a, b, sums, 300, 96, 5, 64, 64, 32, halves), {}


def _grouped() -> Launch:
    a, b, sizes = numbers(120, 96), numbers(96, 64), np.array([40, 0, 64, 16], np.int32)
    return grouped, (1,), (a, b, _sums(120, 64), sizes, 96, 4, 64, 64, 32), {}


def _transposed() -> Launch:
    a, b = numbers(64, 160), numbers(64, 160)
    return transposed, (1,), (a, b, _sums(64, 64), 160, 5, 64, 64, 32), {}


def _attention() -> Launch:
    q, k, v = numbers(128, 64), numbers(192, 64), numbers(192, 64)
    return attention, (2,), (q, k, v, _sums(128, 64), 192, 64, 64, 64), {}


LAUNCHES: dict[str, Callable[[], Launch]] = {
    "no turns": lambda: turns(0, 3),
    "one turn": lambda: turns(1, 3),
    "three turns": lambda: turns(3, 3),
    "six turns": lambda: turns(6, 3),
    "two slots": lambda: turns(4, 2),
    "five slots": lambda: turns(6, 5),
    "eight warps": lambda: turns(4, 3, warps=8),
    "masks": _masked,
    "uneven turns": _uneven,
    "a ring used again": _twice,
    "a factor is computed": _scaled,
    "a step below zero": _backwards,
    "what is stored": lambda: _stored(written),
    "a transposed factor": _transposed,
    "boxes": lambda: _boxes(6),
    "descriptors of the kernel": lambda: _made(5),
    "a descriptor in each turn": _grouped,
    "a loop of stores": lambda: _persistent(False),
    "a loop of two stores": lambda: _persistent(True),
    "boxes of more axes": _deep,
    "attention": _attention,
}


def in_order() -> Launch:
    """A loop whose loads must not run ahead."""
    return _stored(chained)

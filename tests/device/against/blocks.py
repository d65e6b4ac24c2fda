"""Functions that move, order or combine the elements of blocks."""

import triton
import triton.language as tl


@triton.jit
def sum_0(x):
    return tl.sum(x, 0)


@triton.jit
def sum_1(x):
    return tl.sum(x, 1)


@triton.jit
def sum_all(x):
    return tl.sum(x)


@triton.jit
def max_0(x):
    return tl.max(x, 0)


@triton.jit
def max_all(x):
    return tl.max(x)


@triton.jit
def min_1(x):
    return tl.min(x, 1)


@triton.jit
def max_where(x):
    return tl.max(x, 1, return_indices=True)


@triton.jit
def min_where(x):
    return tl.min(x, 0, return_indices=True)


@triton.jit
def argmax(x):
    return tl.argmax(x, 1)


@triton.jit
def argmin(x):
    return tl.argmin(x, 0)


@triton.jit
def xor_sum(x):
    return tl.xor_sum(x, 1)


@triton.jit
def reduce_or(x):
    return tl.reduce_or(x, 0)


@triton.jit
def cumsum(x):
    return tl.cumsum(x, 1)


@triton.jit
def cumsum_back(x):
    return tl.cumsum(x, 0, reverse=True)


@triton.jit
def cumprod(x):
    return tl.cumprod(x, 1)


@triton.jit
def sort(x):
    return tl.sort(x)


@triton.jit
def sort_down(x):
    return tl.sort(x, descending=True)


@triton.jit
def topk(x):
    return tl.topk(x, 8)


@triton.jit
def flip(x):
    return tl.flip(x, 1)


@triton.jit
def flip_rows(x):
    return tl.flip(x, 0)


@triton.jit
def turned(x):
    return tl.trans(x)


@triton.jit
def permuted(x):
    return tl.permute(tl.reshape(x, (4, 8, 32)), (2, 0, 1))


@triton.jit
def widened(x):
    return tl.broadcast_to(tl.reshape(x, (32, 1, 32)), (32, 2, 32))


@triton.jit
def split(x):
    return tl.split(tl.reshape(x, (32, 16, 2)))


@triton.jit
def join(x, y):
    return tl.join(x, y)


@triton.jit
def interleave(x, y):
    return tl.interleave(x, y)


@triton.jit
def gather_0(x, index):
    return tl.gather(x, index, 0)


@triton.jit
def gather_1(x, index):
    return tl.gather(x, index, 1)


@triton.jit
def histogram(x):
    return tl.histogram(tl.reshape(x, (1024,)), 16)


@triton.jit
def histogram_masked(x, mask):
    return tl.histogram(tl.reshape(x, (1024,)), 16, mask=tl.reshape(mask, (1024,)))


# Combine functions of several values


@triton.jit
def _affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(a, b):
    return tl.associative_scan((a, b), 1, _affine)


@triton.jit
def recurrence_back(a, b):
    return tl.associative_scan((a, b), 0, _affine, reverse=True)


@triton.jit
def _lesser_pair(v, i, w, j):
    first = (v < w) | ((v == w) & (i < j))
    return tl.where(first, v, w), tl.where(first, i, j)


@triton.jit
def least_pair(v, i):
    return tl.reduce((v, i), 1, _lesser_pair)


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def narrow_sum(x):
    return tl.reduce(x, 1, _plus)


@triton.jit
def wide_sum(x):
    return tl.sum(x, 1, dtype=tl.int64)


@triton.jit
def kept_sum(x):
    return tl.sum(x, 0, keep_dims=True)


# Control


@triton.jit
def _clipped(a):
    if a > 10:
        return a - 10
    else:
        return -a


@triton.jit
def mapped(x):
    return tl.map_elementwise(_clipped, x)


@triton.jit
def swizzled(i, j):
    return tl.swizzle2d(i, j, 32, 16, 3)


@triton.jit
def looped(x):
    total = x
    for i in range(5):
        total = total * 3 + i
    return total


@triton.jit
def unrolled(x):
    for i in tl.static_range(4):
        x = x * 2 + i
    return x


@triton.jit
def halved(x):
    value: tl.constexpr = 0.5
    return x * value


@triton.jit
def half_tensor(x):
    value = 0.5
    return x * value


@triton.jit
def _half():
    return 0.5


@triton.jit
def half_returned(x):
    return x * _half()


@triton.jit
def from_arange(x):
    return x + tl.arange(0, 32)[None, :]

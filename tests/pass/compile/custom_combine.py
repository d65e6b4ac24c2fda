"""A reduction and a scan with functions of one's own."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_max(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    m = tl.associative_scan(x, 0, larger)
    tl.device_assert(tl.reduce(x, 0, larger) == tl.max(m))
    tl.store(out_ptr + tl.arange(0, BLOCK), m)


x, out = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32), np.zeros(8, np.int32)
running_max[(1,)](x, out, BLOCK=8)
assert out.tolist() == [3, 3, 4, 4, 5, 9, 9, 9]

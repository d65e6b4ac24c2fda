"""A sort and a histogram of lanes that all are defined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def sort_and_count(x_ptr, sorted_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=63)
    tl.store(sorted_ptr + offs, tl.sort(x))
    tl.store(bins_ptr + offs, tl.histogram(x, BLOCK))


sort_and_count[(1,)](
    np.arange(50, dtype=np.int32)[::-1].copy(),
    np.empty(64, np.int32),
    np.empty(64, np.int32),
    50,
    BLOCK=64,
)

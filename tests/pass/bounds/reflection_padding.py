"""The same padding on an input that is large enough."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reflect(x_ptr, out_ptr, n, pad, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.abs(offs - pad)
    at = tl.where(at >= n, 2 * (n - 1) - at, at)
    x = tl.load(x_ptr + at, mask=offs < n + 2 * pad)
    tl.store(out_ptr + offs, x, mask=offs < n + 2 * pad)


out = np.zeros(11, np.float32)
reflect[(1,)](np.arange(7, dtype=np.float32), out, 7, 2, BLOCK=16)
assert out.tolist() == [2, 1, 0, 1, 2, 3, 4, 5, 6, 5, 4]

"""A row of a softmax that is masked everywhere: its maximum is -inf, and -inf - -inf is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def softmax(x_ptr, keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    inside = cols < n
    keep = tl.load(keep_ptr + row * n + cols, mask=inside, other=0)
    x = tl.load(x_ptr + row * n + cols, mask=inside, other=0.0)
    x = tl.where(keep != 0, x, float("-inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    tl.store(out_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=inside)
    #~^ WARN: this store writes NaN to `out_ptr`


keep = np.ones((4, 6), np.int32)
keep[2] = 0
softmax[(4,)](np.ones((4, 6), np.float32), keep, np.zeros((4, 6), np.float32), 6, BLOCK=8)

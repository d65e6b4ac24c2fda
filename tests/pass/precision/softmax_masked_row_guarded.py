"""A row that is masked everywhere, and the maximum is replaced where it is -inf."""

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
    e = tl.exp(x - tl.where(top == float("-inf"), 0.0, top))
    total = tl.sum(e, axis=0)
    tl.store(out_ptr + row * n + cols, e / tl.where(total == 0.0, 1.0, total), mask=inside)


keep = np.ones((4, 6), np.int32)
keep[2] = 0
out = np.ones((4, 6), np.float32)
softmax[(4,)](np.ones((4, 6), np.float32), keep, out, 6, BLOCK=8)
assert (out[2] == 0).all()

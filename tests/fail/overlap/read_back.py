"""A row is stored and one element of it read back: another lane holds that element."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, label_ptr, prob_ptr, loss_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x_ptr + offs))
    tl.store(prob_ptr + offs, e / tl.sum(e))
    p = tl.load(prob_ptr + tl.load(label_ptr))
    #~^ WARN: this load reads back what the same program instance stored to `prob_ptr`
    tl.store(loss_ptr, -tl.log(p))


x, label = np.linspace(0, 1, 32, dtype=np.float32), np.array([7], np.int32)
cross_entropy[(1,)](x, label, np.zeros(32, np.float32), np.zeros(1, np.float32), BLOCK=32)

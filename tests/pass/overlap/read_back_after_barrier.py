"""A row is stored and, after a barrier, one element of it read back."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, label_ptr, prob_ptr, loss_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x_ptr + offs))
    tl.store(prob_ptr + offs, e / tl.sum(e))
    tl.debug_barrier()
    p = tl.load(prob_ptr + tl.load(label_ptr))
    tl.store(loss_ptr, -tl.log(p))


x, label = np.linspace(0, 1, 32, dtype=np.float32), np.array([7], np.int32)
cross_entropy[(1,)](x, label, np.zeros(32, np.float32), np.zeros(1, np.float32), BLOCK=32)

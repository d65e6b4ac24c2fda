"""An online softmax whose first block is masked: -inf - -inf is NaN, before any number came."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def online(x_ptr, out_ptr, STEPS, N: tl.constexpr):
    n = tl.arange(0, N)
    most, total = tl.full([1], float("-inf"), tl.float32), tl.zeros([1], tl.float32)
    for i in range(STEPS):
        x = tl.where(i * N + n < N, float("-inf"), tl.load(x_ptr + i * N + n))
        new = tl.maximum(most, tl.max(x, 0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(x - new), 0)  # here: NaN is born
        most = new
    tl.store(out_ptr + tl.arange(0, 1), total)


online[(1,)](np.zeros((4, 16), np.float32), np.zeros(1, np.float32), 4, N=16)


# What `blockstep precision` says:
#
#     online, grid (1, 1, 1)
#       out_ptr: fp32, exact but for these (1 NaN of 1 element)
#
#     examples/precision/online_softmax.py    introduced, of the size of the values
#        16 |        0 | total = total * tl.exp(most - new) + tl.sum(tl.exp(x - new)…
#           |          | ^ NaN is born: -inf - -inf = NaN (1 element)
#           |          | ^ NaN is born: -inf - -inf = NaN (16 elements)

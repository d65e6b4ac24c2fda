"""A row is stored, and one element of it read back by another thread of the same program instance."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, label_ptr, prob_ptr, loss_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x_ptr + offs))
    tl.store(prob_ptr + offs, e / tl.sum(e))
    p = tl.load(prob_ptr + tl.load(label_ptr))
    tl.store(loss_ptr, -tl.log(p))


x, label = np.linspace(0, 1, 32, dtype=np.float32), np.array([7], np.int32)
cross_entropy[(1,)](x, label, np.zeros(32, np.float32), np.zeros(1, np.float32), BLOCK=32)


# What the tool says:
#
#     warning[overlap]: this load reads back what the same program instance stored to `prob_ptr`, with no barrier between
#       --> examples/bugs/read_back.py:14:9 in cross_entropy
#     13 |     tl.store(prob_ptr + offs, e / tl.sum(e))
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (1) write of prob_ptr[7]
#     14 |     p = tl.load(prob_ptr + tl.load(label_ptr))
#        |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (2) read of prob_ptr[7]
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = the two go through different offsets or masks, so another thread may hold the element
#     note: `prob_ptr` was passed here
#       --> examples/bugs/read_back.py:19  cross_entropy[(1,)](x, label, np.zeros(32, np.float32), np.zeros(1, np.float32), BLOCK=32)
#     help: put tl.debug_barrier() between them, or keep the value in a variable
#     note: blockstep orders the two; Triton's compiled code may not
#     1 warning in 1 launch

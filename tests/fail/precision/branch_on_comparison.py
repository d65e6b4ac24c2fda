"""NaN makes `loss > limit` false: the step that should be skipped is taken."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def step(x_ptr, loss_ptr, limit):
    loss = tl.sqrt(tl.load(loss_ptr))
    if loss > limit:
        #~^ WARN: a comparison with NaN decides this branch
        tl.store(x_ptr, 0.0)
    else:
        tl.store(x_ptr, 1.0)


step[(1,)](np.zeros(1, np.float32), np.full(1, -2.0, np.float32), 10.0)

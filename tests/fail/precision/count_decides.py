"""How many elements are above a limit decides a branch, and one of them is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def vote(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.log(tl.load(x_ptr + tl.arange(0, BLOCK)))
    if tl.sum((x > 0.5).to(tl.int32), axis=0) > 2:
        #~^ WARN: a comparison with NaN decides this branch
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 2)


vote[(1,)](np.array([3, 4, -1, 5], np.float32), np.zeros(1, np.int32), BLOCK=4)

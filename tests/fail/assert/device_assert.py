"""An assertion about indices does not hold."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather(index_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    tl.device_assert((index >= 0) & (index < n), "index out of range")
    #~^ ERROR: device_assert failed: index out of range
    tl.store(out_ptr + offs, tl.load(x_ptr + index, mask=index < n, other=0.0))


gather[(1,)](
    np.arange(32, dtype=np.int32), np.ones(30, np.float32), np.zeros(32, np.float32), 30, BLOCK=32
)

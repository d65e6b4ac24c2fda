"""An assertion about indices that come from memory."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather(index_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    tl.device_assert(index < n, "index out of range")
    tl.store(out_ptr + offs, tl.load(x_ptr + index, mask=index < n, other=0.0))


x, out = np.ones(30, np.float32), np.zeros(32, np.float32)
gather[(1,)](np.arange(32, dtype=np.int32), x, out, 30, BLOCK=32)


# What the tool says:
#
#     error[assert]: device_assert failed: index out of range
#       --> examples/bugs/device_assert.py:13:5 in gather
#     13 |     tl.device_assert(index < n, "index out of range")
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `index < n` is false for elements 30..31 of 32
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#     note: launched here
#       --> examples/bugs/device_assert.py:18  gather[(1,)](np.arange(32, dtype=np.int32), x, out, 30, BLOCK=32)
#     1 error in 1 launch

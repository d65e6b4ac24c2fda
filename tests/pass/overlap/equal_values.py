"""Two lanes write the same value to one element: a flag that several set."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(index_ptr, out_ptr, BLOCK: tl.constexpr):
    index = tl.load(index_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + index, 1)


out = np.zeros(30, np.int32)
mark[(1,)](np.arange(32, dtype=np.int32) % 30, out, BLOCK=32)
assert (out == 1).all()

"""Two float32 elements read as one int64, at an even element."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pairs(x_ptr, out_ptr):
    wide = (x_ptr + 2).to(tl.pointer_type(tl.int64))
    tl.store(out_ptr, tl.load(wide))


out = np.zeros(1, np.int64)
pairs[(1,)](np.arange(8, dtype=np.int64).view(np.float32), out)
assert out[0] == 1

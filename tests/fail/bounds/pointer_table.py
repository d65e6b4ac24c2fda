"""A table of addresses, one of which belongs to no array that is alive."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather(table_ptr, out_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ ERROR: this load reads memory that belongs to no argument
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offs, x)


x = np.empty(16, np.float32)
x[:] = 1
table = np.array([x.ctypes.data, 1 << 40], np.int64)
gather[(2,)](table, np.zeros(32, np.float32), BLOCK=16)

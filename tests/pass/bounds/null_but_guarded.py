"""A null entry of a pointer table is tested before it is followed; nothing is loaded through it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_bias(table_ptr, out_ptr, BLOCK: tl.constexpr):
    address = tl.load(table_ptr)
    offs = tl.arange(0, BLOCK)
    if address != 0:
        bias = tl.load(address.to(tl.pointer_type(tl.float32)) + offs)
        tl.store(out_ptr + offs, bias)
    else:
        tl.store(out_ptr + offs, 0.0)


out = np.ones(16, np.float32)
add_bias[(1,)](np.zeros(1, np.int64), out, BLOCK=16)
assert (out == 0).all()

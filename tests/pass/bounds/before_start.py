"""The element before the first is masked off."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def difference(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offs - 1, mask=offs > 0, other=0.0)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x - before)


out = np.zeros(64, np.float32)
difference[(1,)](np.ones(64, np.float32), out, BLOCK=64)
assert out[0] == 1 and (out[1:] == 0).all()

"""An argmax over a row whose tail is minus infinity, used as an offset."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pick_largest(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=float("-inf"))
    tl.store(out_ptr, tl.load(x_ptr + tl.argmax(x, axis=0)))


out = np.zeros(1, np.float32)
pick_largest[(1,)](np.arange(50, dtype=np.float32), out, 50, BLOCK=64)
assert out[0] == 49

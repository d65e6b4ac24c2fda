"""A running sum in bfloat16, of which somebody expects three digits."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision relative:1e-2

@triton.jit
def total(x_ptr, out_ptr, N: tl.constexpr):
    acc = tl.zeros((4,), tl.bfloat16)
    for k in range(N):
        acc += tl.load(x_ptr + k * 4 + tl.arange(0, 4)).to(tl.bfloat16)
        #~^ ERROR: `out_ptr` is off by
    tl.store(out_ptr + tl.arange(0, 4), acc.to(tl.float32))


x = (np.arange(1024, dtype=np.float32) % 7 + 1).reshape(256, 4) / 8
total[(1,)](x, np.zeros(4, np.float32), N=256)

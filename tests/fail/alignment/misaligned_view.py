"""An array of int32 that starts at an odd byte of a buffer."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    #~^ ERROR: this load of 4 bytes starts 1 byte past a multiple of 4
    tl.store(out_ptr, tl.sum(x))


data = np.zeros(68, np.uint8)
total[(1,)](data[1:65].view(np.int32), np.zeros(1, np.int32), BLOCK=16)

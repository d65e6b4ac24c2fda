"""The base of a block pointer is an int32 product: (batch * T * H + head) * K."""
#~ FLAGS: --programs 16384,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, out_ptr, T, H, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    base = x_ptr + (i * T * H) * K
    block = tl.make_block_ptr(base, (T, K), (H * K, 1), (0, 0), (B, K), (1, 0))
    x = tl.load(block)  #~ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + tl.arange(0, K), tl.sum(x.to(tl.int32), axis=0))


x = np.empty((16385, 64, 32, 64), np.int8)
rows[(16385,)](x, np.zeros(64, np.int32), 64, 32, K=64, B=16)

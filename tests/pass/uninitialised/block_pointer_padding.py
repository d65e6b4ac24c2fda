"""`padding_option` says what lies outside; a descriptor always reads zero there."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,), padding_option="zero")
    y = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK]).load([0])
    tl.store(out_ptr, tl.sum(x) + tl.sum(y))


out = np.zeros(1, np.float32)
total[(1,)](np.ones(64, np.float32)[:52], out, 52, BLOCK=64)
assert out[0] == 104

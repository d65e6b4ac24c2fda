"""Only `q` is passed, and `v` reached from it by a stride that was passed as a number."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def sum_q_and_v(q_ptr, out_ptr, stride_head, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + offs)
    v = tl.load(q_ptr + 2 * stride_head + offs)  #~ WARN: leaves what was passed as `q_ptr`
    tl.store(out_ptr + offs, q + v)


qkv, out = np.ones((3, 64), np.float32), np.zeros(64, np.float32)
sum_q_and_v[(1,)](qkv[0], out, 64, BLOCK=64)

"""The expert's index times the stride between experts, in the pointer of a weight."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def weights(expert_ptr, w_ptr, out_ptr, stride_e, BLOCK: tl.constexpr):
    e = tl.load(expert_ptr + tl.program_id(0))
    w_ptr += e * stride_e
    w = tl.load(w_ptr + tl.arange(0, BLOCK))  #~ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + tl.arange(0, BLOCK), w)


weights[(1,)](
    np.array([255], np.int32),
    np.empty((256, 4096, 2100), np.int8),
    np.zeros(64, np.int8),
    4096 * 2100,
    BLOCK=64,
)

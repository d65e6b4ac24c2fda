"""A split-K matmul adds into an output that nobody set to zero."""

import torch

import triton
import triton.language as tl


@triton.jit
def split_k(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offs)
    tl.atomic_add(out_ptr + offs, x)  #~ ERROR: of `out_ptr` that nothing has written


split_k[(4,)](torch.ones(128), torch.empty(32), BLOCK=32)

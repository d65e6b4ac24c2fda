"""bfloat16 and bool tensors, exactly filled."""

import torch

import triton
import triton.language as tl


@triton.jit
def select(x_ptr, keep_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + offs)
    tl.store(out_ptr + offs, tl.where(keep, tl.load(x_ptr + offs), 0.0))


x, keep = torch.ones(64, dtype=torch.bfloat16), torch.arange(64) % 2 == 0
out = torch.empty_like(x)
select[(2,)](x, keep, out, BLOCK=32)
assert out.sum() == 32

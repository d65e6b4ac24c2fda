"""Memory from `torch.empty` and `new_empty` that is written before it is read."""

import torch

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


x = torch.empty(32).uniform_()
y, z = torch.empty(32), x.new_empty(32)
copy[(1,)](x, y, BLOCK=32)
copy[(1,)](y, z, BLOCK=32)
assert torch.equal(x, z)

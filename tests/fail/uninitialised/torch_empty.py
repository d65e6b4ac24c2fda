"""An accumulator that comes from `torch.empty_like`, and is added to by an atomic."""

import torch

import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, acc_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.atomic_add(acc_ptr + offs, x)
    #~^ ERROR: this atomic_add updates 128 bytes of `acc_ptr` that nothing has written


x = torch.ones(32)
accumulate[(1,)](x, torch.empty_like(x), BLOCK=32)

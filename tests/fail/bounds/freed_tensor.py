"""The address of a tensor that is gone, kept in a table."""

import torch

import triton
import triton.language as tl


@triton.jit
def peek(table_ptr, out_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    #~^ ERROR: this load reads memory that belongs to no argument


table = torch.tensor([torch.empty(1 << 20).fill_(1.0).data_ptr()])
peek[(1,)](table, torch.zeros(16), BLOCK=16)

"""Kernels that only the screen's tests stop in."""

from __future__ import annotations

import blockstep as triton
import blockstep.language as tl


@triton.jit
def endless(x_ptr, n):
    total = tl.load(x_ptr)
    for i in range(n):
        total = total + i
    tl.store(x_ptr, total)


@triton.jit
def stopping(x_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if pid == 2:
        breakpoint()
    tl.store(out_ptr + offs, x * 2)


@triton.jit
def helper(x):
    breakpoint()
    return x + 1


@triton.jit
def calling(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, helper(x))

"""Inline PTX that reaches memory can run on a GPU, and not here."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def peek(x_ptr, out_ptr):
    x = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x_ptr], tl.int32, False, 1)
    #~^ ERROR: blockstep cannot run inline PTX
    tl.store(out_ptr, x)


peek[(1,)](np.arange(32, dtype=np.int32), np.zeros(1, np.int32))

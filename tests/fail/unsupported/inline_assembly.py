"""Inline PTX can run on a GPU, and not here."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def brev(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)  #~ ERROR: inline
    tl.store(out_ptr + offs, y)


brev[(1,)](np.arange(32, dtype=np.int32), np.zeros(32, np.int32), BLOCK=32)

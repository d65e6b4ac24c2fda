"""Inline PTX on registers alone."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reverse_bits(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.inline_asm_elementwise(
        "brev.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out_ptr + offs, y)


out = np.zeros(32, np.int32)
reverse_bits[(1,)](np.arange(32, dtype=np.int32), out, BLOCK=32)
assert out[2] == 1 << 30

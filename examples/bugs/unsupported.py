"""Inline PTX that reaches memory can run on a GPU, and not here."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def peek(x_ptr, out_ptr):
    x = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x_ptr], tl.int32, False, 1)
    tl.store(out_ptr, x)


peek[(1,)](np.arange(32, dtype=np.int32), np.zeros(1, np.int32))


# What the tool says:
#
#     unsupported: blockstep cannot run inline PTX `ld.global.b32 $0, [$1]`: only register instructions in a straight line are supported
#       --> examples/bugs/unsupported.py:11:9 in peek
#     11 |     x = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x_ptr], tl.int32, False, 1)
#        |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#     note: launched here
#       --> examples/bugs/unsupported.py:15  peek[(1,)](np.arange(32, dtype=np.int32), np.zeros(1, np.int32))
#     note: a limit of blockstep, not a bug in your kernel
#     1 error in 1 launch

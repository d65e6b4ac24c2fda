"""A mask of bits for 64 positions, built in 32 bits."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def bits(out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1 << offs)


bits[(1,)](np.zeros(64, np.int64), BLOCK=64)


# What the tool says:
#
#     error[overflow]: the result of a shift past the width is stored to `out_ptr`
#       --> examples/bugs/shift.py:12:5 in bits
#     12 |     tl.store(out_ptr + offs, 1 << offs)
#        |                              ^^^^^^^^^ shifted too far here
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ elements 32..63 of 64 are undefined
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = 1 << 32 leaves the bits of int32: not defined
#        = `out_ptr` is int64[64]
#     note: `out_ptr` was passed here
#       --> examples/bugs/shift.py:15  bits[(1,)](np.zeros(64, np.int64), BLOCK=64)
#     help: keep the shift below the width, or shift a wider type
#     1 error in 1 launch

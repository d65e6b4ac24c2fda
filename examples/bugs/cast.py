"""A quantisation without a clamp: 3.2 / 0.02 is 160, and int8 ends at 127."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, out_ptr, scale, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, (x / scale).to(tl.int8))


x = np.linspace(-1, 3.2, 32, dtype=np.float32)
quantise[(1,)](x, np.zeros(32, np.int8), 0.02, BLOCK=32)


# What the tool says:
#
#     warning[cast]: 132.90323 does not fit int8, and -124 is stored to `out_ptr`
#       --> examples/bugs/cast.py:13:5 in quantise
#     13 |     tl.store(out_ptr + offs, (x / scale).to(tl.int8))
#        |                              ^^^^^^^^^^^^^^^^^^^^^^^ converted here
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ elements 27..31 of 32 are outside int8
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = what a conversion makes of a float outside int8 is not defined
#        = `out_ptr` is int8[32]
#     note: `out_ptr` was passed here
#       --> examples/bugs/cast.py:17  quantise[(1,)](x, np.zeros(32, np.int8), 0.02, BLOCK=32)
#     help: clamp before converting, or convert to a wider type
#     1 warning in 1 launch

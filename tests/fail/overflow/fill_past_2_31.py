"""A fill of more than 2**31 elements: program id times block in int32."""
#~ FLAGS: --programs 2097152,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1)  #~ ERROR: a wrapped integer is used as an offset


fill[(2097153,)](np.empty(2**31 + 1024, np.int8), BLOCK=1024)

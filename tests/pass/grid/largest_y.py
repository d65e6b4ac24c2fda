"""65535 program instances on y: just allowed. Two of them are tried."""
#~ FLAGS: --programs 0,0,0;0,65534,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(out_ptr):
    tl.store(out_ptr + tl.program_id(1), 1)


out = np.zeros(65535, np.int8)
mark[(1, 65535)](out)
assert out[0] == 1 and out[65534] == 1 and out.sum() == 2

"""One element that stores a 64-bit offset past 2**31: no large array is needed to try it."""
#~ FLAGS: --programs 3000000,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def probe(out_ptr, stride):
    tl.store(out_ptr, tl.program_id(0).to(tl.int64) * stride)


out = np.zeros(1, np.int64)
probe[(3000001,)](out, 4096)
assert out[0] == 3000000 * 4096

"""Another device: the product of all three sizes is at most 65535."""
#~ FLAGS: --target ascend910b

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(out_ptr):
    tl.store(out_ptr + tl.program_id(0) * 256 + tl.program_id(1), 1)


mark[(256, 256)](np.zeros(65536, np.int8))
#~^ ERROR: the grid as a whole has 65536 program instances, and Ascend 910B allows 65535

"""A wait with a limit gives up by itself."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def wait(flag_ptr, out_ptr):
    tries = 0
    while (tl.atomic_add(flag_ptr, 0) == 0) and (tries < 100):
        tries += 1
    tl.store(out_ptr, tries)


out = np.zeros(1, np.int32)
wait[(1,)](np.zeros(1, np.int32), out)
assert out[0] == 100

"""Barriers at random until ten thousand runs agree: eight seeds say more."""
#~ FLAGS: --seeds 8

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    before = tl.load(out_ptr + pid, mask=pid > 0, other=0)
    tl.store(out_ptr + pid + 1, before + x)
    #~^ ERROR: `out_ptr` is read and written by two program instances


scan[(8,)](np.ones(8, np.int32), np.zeros(9, np.int32))
#~^ WARN: `out_ptr` depends on the order of program instances

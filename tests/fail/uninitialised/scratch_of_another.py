"""Each program instance reads the slot of the next one, which the last launch left unwritten."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def step(scratch_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(scratch_ptr + pid + 1)  #~ ERROR: of `scratch_ptr` that nothing has written
    tl.store(out_ptr + pid, x)


@triton.jit
def fill(scratch_ptr):
    tl.store(scratch_ptr + tl.program_id(0), 1.0)


scratch, out = np.empty(12, np.float32), np.zeros(8, np.float32)
fill[(8,)](scratch)
step[(8,)](scratch, out, 8)

"""A lock that is given back with a relaxed exchange: what it guarded is not published with it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(total_ptr + offs)
    tl.store(total_ptr + offs, total + 1)
    #~^ ERROR: `total_ptr` is read and written by two program instances
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="relaxed")


accumulate[(4,)](np.zeros(1, np.int32), np.zeros(32, np.float32), BLOCK=32)

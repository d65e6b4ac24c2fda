"""One path through the critical section forgets to give the lock back."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        #~^ ERROR: 2 program instances wait for what no other will do
        pass
    total = tl.load(total_ptr)
    tl.store(total_ptr, total + 1)
    if total < 1:
        tl.atomic_xchg(lock_ptr, 0)


accumulate[(4,)](np.zeros(1, np.int32), np.zeros(1, np.float32))

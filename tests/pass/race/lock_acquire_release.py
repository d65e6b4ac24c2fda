"""A lock with just the semantics that it needs: acquire to take it, release to give it back."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire") == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0, sem="release")


total = np.zeros(1, np.float32)
accumulate[(8,)](np.zeros(1, np.int32), total)
assert total[0] == 8

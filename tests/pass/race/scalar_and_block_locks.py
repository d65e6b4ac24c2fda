"""The same lock taken through a scalar pointer, and through a block of one element."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr, BLOCK: tl.constexpr):
    one = tl.arange(0, 1)
    offs = tl.arange(0, BLOCK)
    while tl.max(tl.atomic_cas(lock_ptr + one, one, one + 1)) == 1:
        pass
    tl.store(total_ptr + offs, tl.load(total_ptr + offs) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + one, 0)


total = np.zeros(16, np.int32)
accumulate[(5,)](np.zeros(1, np.int32), total, BLOCK=16)
assert (total == 5).all()

"""The layer-norm lock: taken with a compare-and-swap, given back after a barrier."""

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
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


total = np.zeros(32, np.float32)
accumulate[(8,)](np.zeros(1, np.int32), total, BLOCK=32)
assert (total == 8).all()

"""A spin lock that is given back with a relaxed atomic.

The next owner may see the lock free and the total old.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0, sem="relaxed")


accumulate[(4,)](np.zeros(1, np.int32), np.zeros(1, np.float32))


# What the tool says:
#
#     error[race]: `total_ptr` is read and written by two program instances, and nothing orders them
#       --> examples/bugs/lock.py:16:5 in accumulate
#     16 |     tl.store(total_ptr, tl.load(total_ptr) + 1)
#        |                         ^^^^^^^^^^^^^^^^^^ (1) read of total_ptr[0] by program instance (1, 0, 0)
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (2) write of total_ptr[0] by program instance (0, 0, 0)
#        = `total_ptr` is float32[1]; this is a read after write at 1 element
#        = the atomics between them are relaxed, and a relaxed atomic orders nothing else
#     note: `total_ptr` was passed here
#       --> examples/bugs/lock.py:20  accumulate[(4,)](np.zeros(1, np.int32), np.zeros(1, np.float32))
#     help: release after the stores, sem="release", and acquire before the loads, sem="acquire"
#     1 error in 1 launch

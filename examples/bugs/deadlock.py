"""One path through a critical section forgets to give the lock back."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(total_ptr)
    tl.store(total_ptr, total + 1)
    if total < 1:
        tl.atomic_xchg(lock_ptr, 0)


accumulate[(4,)](np.zeros(1, np.int32), np.zeros(1, np.float32))


# What the tool says:
#
#     error[deadlock]: 2 program instances wait for what no other will do
#       --> examples/bugs/deadlock.py:11:11 in accumulate
#     11 |     while tl.atomic_cas(lock_ptr, 0, 1) == 1:
#        |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ program instance (2, 0, 0) waits for lock_ptr[0]
#        = program instance (3, 0, 0) waits here too, for lock_ptr[0]
#        = of the launch: 2 finished, 2 waiting, 0 not started
#     note: launched here
#       --> examples/bugs/deadlock.py:19  accumulate[(4,)](np.zeros(1, np.int32), np.zeros(1, np.float32))
#     help: see that every path sets the flag, and that every path gives the lock back
#     1 error in 1 launch

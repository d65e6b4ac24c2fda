"""Elements are appended in the order in which the program instances come.

Run it with: blockstep check --seeds 8 examples/bugs/order.py
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def append(count_ptr, out_ptr):
    at = tl.atomic_add(count_ptr, 1)
    tl.store(out_ptr + at, tl.program_id(0))


append[(8,)](np.zeros(1, np.int32), np.zeros(8, np.int32))


# What the tool says:
#
#     warning[order]: `out_ptr` depends on the order of program instances
#       --> examples/bugs/order.py:18:1
#     18 | append[(8,)](np.zeros(1, np.int32), np.zeros(8, np.int32))
#        | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 7 of 8 seeds end with another value
#        = out_ptr[0] is 0 or 7
#     help: let each program instance write its own elements and combine them in a second launch
#     note: --seed 1 gives a result that --seed 0 does not
#     1 warning in 1 launch

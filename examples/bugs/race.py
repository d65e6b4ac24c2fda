"""Every program instance adds its part to one total: by a load, an addition and a store."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, total_ptr, BLOCK: tl.constexpr):
    s = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    old = tl.load(total_ptr)
    tl.store(total_ptr, old + s)


total[(4,)](np.ones(256, np.float32), np.zeros(1, np.float32), BLOCK=64)


# What the tool says:
#
#     error[race]: `total_ptr` is read and written by two program instances, and nothing orders them
#       --> examples/bugs/race.py:13:5 in total
#     12 |     old = tl.load(total_ptr)
#        |           ^^^^^^^^^^^^^^^^^^ (1) read of total_ptr[0] by program instance (1, 0, 0)
#     13 |     tl.store(total_ptr, old + s)
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (2) write of total_ptr[0] by program instance (0, 0, 0)
#        = `total_ptr` is float32[1]; this is a read after write at 1 element
#        = program instances of one launch are unordered; only an atomic with acquire/release semantics links them
#     note: `total_ptr` was passed here
#       --> examples/bugs/race.py:16  total[(4,)](np.ones(256, np.float32), np.zeros(1, np.float32), BLOCK=64)
#     help: tl.atomic_add(total_ptr, s), or give each program instance its own element and add afterwards
#     1 error in 1 launch

"""The parts are added by an atomic."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, total_ptr, BLOCK: tl.constexpr):
    s = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.atomic_add(total_ptr, s)


total = np.zeros(1, np.float32)
sum_kernel[(4,)](np.ones(256, np.float32), total, BLOCK=64)
assert total[0] == 256

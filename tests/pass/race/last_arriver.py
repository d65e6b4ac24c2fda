"""Split-K: every program instance stores its part, the last one to arrive adds them up."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def split_sum(x_ptr, parts_ptr, arrived_ptr, out_ptr, P: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(parts_ptr + pid, tl.sum(x))
    tl.debug_barrier()
    if tl.atomic_add(arrived_ptr, 1) == P - 1:
        tl.store(out_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, P))))


out = np.zeros(1, np.float32)
x = np.arange(128, dtype=np.float32)
split_sum[(4,)](x, np.zeros(4, np.float32), np.zeros(1, np.int32), out, P=4, BLOCK=32)
assert out[0] == x.sum()

"""Addition built from compare-and-swap, begun with an atomic read."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add(total_ptr, value):
    old = tl.atomic_add(total_ptr, 0)
    seen = tl.atomic_cas(total_ptr, old, old + value)
    while seen != old:
        old = seen
        seen = tl.atomic_cas(total_ptr, old, old + value)


total = np.zeros(1, np.int32)
add[(7,)](total, 3)
assert total[0] == 21

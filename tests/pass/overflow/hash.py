"""A hash wraps on purpose; what it gives is cut to the size of the table before it is an offset."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(keys_ptr, table_ptr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    keys = tl.load(keys_ptr + tl.arange(0, BLOCK))
    h = keys * -1640531527
    h = h ^ (h >> 15)
    slot = (h * -2048144777) & (SIZE - 1)
    tl.atomic_add(table_ptr + slot, 1)


table = np.zeros(64, np.int32)
scatter[(1,)](np.arange(32, dtype=np.int32) + 100000, table, SIZE=64, BLOCK=32)
assert table.sum() == 32

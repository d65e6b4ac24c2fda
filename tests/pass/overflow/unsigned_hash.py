"""The same with unsigned numbers and a remainder."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(keys_ptr, table_ptr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    keys = tl.load(keys_ptr + tl.arange(0, BLOCK)).to(tl.uint32)
    h = keys * 2654435761
    slot = (h ^ (h >> 16)) % SIZE
    tl.atomic_add(table_ptr + slot, 1)


table = np.zeros(61, np.int32)
scatter[(1,)](np.arange(32, dtype=np.int32) + 100000, table, SIZE=61, BLOCK=32)
assert table.sum() == 32

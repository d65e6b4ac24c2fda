"""A tile's pointers are promised along both axes; only the contiguous one can use it, in bytes."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row, col = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    at = x_ptr + row * BLOCK + col
    tl.multiple_of(at, [16, 16])
    x_ptr = tl.multiple_of(x_ptr + 4, 16)
    tl.store(out_ptr + row * BLOCK + col, tl.load(at))


memory = np.ones(16 * 16 + 16, np.float32)
start = (-memory.ctypes.data // 4) % 16
copy[(1,)](memory[start : start + 256], np.zeros((16, 16), np.float32), BLOCK=16)

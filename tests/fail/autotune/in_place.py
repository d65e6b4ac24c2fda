"""A kernel in place under two configurations: tuning on a GPU would spoil its first call."""

import numpy as np

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def double(x_ptr, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


x = np.ones(64, np.float32)
double[lambda meta: (triton.cdiv(64, meta["B"]),)](x, 64)
#~^ WARN: each launch of the kernel changes `x_ptr` again
assert (x == 2).all()

"""A sum by atomics under four configurations: tuning on a GPU counts each element many times."""

import numpy as np

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32, 64, 128)], key=["n"])
@triton.jit
def total(x_ptr, out_ptr, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0)))


out = np.zeros(1, np.int32)
total[lambda meta: (triton.cdiv(100, meta["B"]),)](np.ones(100, np.int32), out, 100)
#~^ WARN: each launch of the kernel changes `out_ptr` again
assert out[0] == 100

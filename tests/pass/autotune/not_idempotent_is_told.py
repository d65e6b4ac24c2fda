"""With the rule "rerun", a kernel that tuning on a GPU would corrupt is named."""

import numpy as np

import triton
import triton.language as tl


import os
import warnings

os.environ["BLOCKSTEP_AUTOTUNE"] = "rerun"


@triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def double(x_ptr, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


x = np.ones(64, np.float32)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    double[lambda meta: (triton.cdiv(64, meta["B"]),)](x, 64)
assert (x == 2).all()
assert any("x_ptr" in str(w.message) for w in caught)

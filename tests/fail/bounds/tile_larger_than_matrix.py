"""One configuration has a tile larger than the matrix; the row mask was left out."""

import os

import numpy as np

import triton
import triton.language as tl

os.environ["BLOCKSTEP_AUTOTUNE"] = "every"  # judge every configuration


@triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 64})], key=["M"])
@triton.jit
def scale(x_ptr, out_ptr, M, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + rows)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(out_ptr + rows, x * 2, mask=rows < M)


x, out = np.ones(48, np.float32), np.zeros(48, np.float32)
scale[lambda meta: (triton.cdiv(48, meta["B"]),)](x, out, 48)

"""The transpose with both masks."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def transpose(x_ptr, out_ptr, M, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    cols = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    mask = (rows < M) & (cols < N)
    x = tl.load(x_ptr + rows * N + cols, mask=mask)
    tl.store(out_ptr + cols * M + rows, x, mask=mask)


x = np.arange(2400, dtype=np.float32).reshape(48, 50)
out = np.zeros((50, 48), np.float32)
transpose[(2, 2)](x, out, 48, 50, B=32)
assert (out == x.T).all()

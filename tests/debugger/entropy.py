"""The example of docs/blame.md."""

import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.ladder.launch import take


@triton.jit
def entropy(p_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + row * n + cols, mask=cols < n, other=0.0)
    bits = -tl.log2(p)
    total = tl.sum(p * bits, axis=0)
    tl.store(out_ptr + row, total)


p = np.array([[0.5, 0.25, 0.25], [0.7, 0.3, 0.0]], np.float32)
launch = take(entropy, (p, np.zeros(2, np.float32), 3), {"BLOCK": 4}, (2,))

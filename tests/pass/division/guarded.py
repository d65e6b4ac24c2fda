"""The zero divisors are replaced, masked off, or their quotients not used."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mean(total_ptr, count_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.load(total_ptr + offs, mask=offs < n, other=0)
    count = tl.load(count_ptr + offs, mask=offs < n, other=0)
    tl.store(out_ptr + offs, total // tl.where(count == 0, 1, count), mask=offs < n)
    tl.store(out_ptr + offs, tl.where(count > 0, total // count, 0), mask=offs < n)
    tl.store(out_ptr + offs, total % count, mask=(offs < n) & (count != 0))


mean[(1,)](np.full(7, 6, np.int32), np.arange(7, dtype=np.int32), np.zeros(7, np.int32), 7, BLOCK=8)

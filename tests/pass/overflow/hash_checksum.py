"""A wrapped hash is added up by an atomic: the checksum wraps too, on purpose."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def checksum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    h = (x * -1640531527) ^ (x << 7)
    tl.atomic_xor(out_ptr, tl.xor_sum(h * 31, axis=0))
    tl.atomic_add(out_ptr + 1, h[:, None].reshape(BLOCK).sum())


checksum[(3,)](np.arange(32, dtype=np.int32) + 100000, np.zeros(2, np.int32), BLOCK=32)

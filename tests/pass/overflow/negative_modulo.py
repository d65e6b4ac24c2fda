"""Ring buffers: offsets that wrap by a remainder, also of unsigned counters."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def ring(x_ptr, out_ptr, start, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = (start + offs).to(tl.uint32) % SIZE
    tl.store(out_ptr + offs, tl.load(x_ptr + at))
    back = (SIZE - 1 - offs) % SIZE
    tl.store(out_ptr + offs, tl.load(x_ptr + back))


ring[(1,)](np.ones(48, np.float32), np.zeros(32, np.float32), 40, SIZE=48, BLOCK=32)

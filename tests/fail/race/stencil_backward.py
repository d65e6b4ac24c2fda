"""The backward of a stencil adds to neighbouring positions by load, add and store."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def backward(grad_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    grad = tl.load(grad_ptr + offs)
    for tap in range(3):
        at = offs + tap
        old = tl.load(out_ptr + at)
        tl.store(out_ptr + at, old + grad)
        #~^ ERROR: `out_ptr` is read and written by two program instances
        tl.debug_barrier()


backward[(4,)](np.ones(128, np.float32), np.zeros(130, np.float32), 128, BLOCK=32)

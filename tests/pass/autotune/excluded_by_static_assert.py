"""Configurations that a `static_assert` rules out are passed over, and are no fault."""

import numpy as np

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": n}) for n in (64, 16)], key=["n"], restore_value=["x_ptr"]
)
@triton.jit
def double(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(n % BLOCK == 0)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 2 * tl.load(x_ptr + offs))


x = np.ones(48, np.float32)
double[lambda meta: (triton.cdiv(48, meta["BLOCK"]),)](x, 48)
assert (x == 2).all()

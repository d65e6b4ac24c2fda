"""Vector addition: the smallest kernel with a masked tail."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`n, n -> n`."""
    out = np.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)](x, y, out, x.size, BLOCK=256)
    return out


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 10_000), np.float32)
    assert np.array_equal(add(x, y), x + y)
    print("vector add: equal to NumPy")

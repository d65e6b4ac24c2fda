"""Dropout whose mask is computed, not stored: the same seed gives the same mask again."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    keep = tl.rand(seed, offs) > p  # Philox: a random number for each offset
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x: np.ndarray, p: float, seed: int) -> np.ndarray:
    """`n -> n`: each element is 0 with probability p, else scaled by 1 / (1 - p)."""
    out = np.empty_like(x)
    dropout_kernel[(triton.cdiv(x.size, 1024),)](x, out, x.size, p, seed, BLOCK=1024)
    return out


if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal(20_000, np.float32)
    once, again, other = dropout(x, 0.3, 7), dropout(x, 0.3, 7), dropout(x, 0.3, 8)
    assert np.array_equal(once, again) and not np.array_equal(once, other)
    kept = once != 0
    assert abs(kept.mean() - 0.7) < 0.02
    np.testing.assert_allclose(once[kept], x[kept] / np.float32(0.7), rtol=1e-6)
    print(f"dropout: {kept.mean():.3f} of the elements kept")

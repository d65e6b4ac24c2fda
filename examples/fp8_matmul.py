"""Product of fp8 matrices with a scale for each row of A and each column of B."""

import ml_dtypes
import numpy as np

import triton
import triton.language as tl


@triton.jit
def quantise_kernel(x_ptr, out_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    """Each row to fp8 e4m3, scaled so that its largest element becomes 448."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-12) / 448.0
    tl.store(scale_ptr + row, scale)
    tl.store(out_ptr + row * n + cols, (x / scale).to(tl.float8e4nv), mask=mask)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, as_ptr, bs_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """C = A @ B^T, where A is M x K and B is N x K."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :], (rm[:, None] < M) & (rk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + rn[None, :] * K + rk[:, None], (rn[None, :] < N) & (rk[:, None] < K), other=0.0
        )
        acc = tl.dot(a, b, acc)
    a_scale = tl.load(as_ptr + rm, mask=rm < M, other=1.0)
    b_scale = tl.load(bs_ptr + rn, mask=rn < N, other=1.0)
    out = acc * a_scale[:, None] * b_scale[None, :]
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], out, mask=mask)


def quantise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`m n -> m n` fp8 e4m3, and the scale of each row."""
    rows, n = x.shape
    out, scale = np.empty(x.shape, ml_dtypes.float8_e4m3fn), np.empty(rows, np.float32)
    quantise_kernel[(rows,)](x, out, scale, n, BLOCK=triton.next_power_of_2(n))
    return out, scale


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`m k, n k -> m n` through fp8."""
    (a8, a_scale), (b8, b_scale) = quantise(a), quantise(b)
    (m, k), n = a.shape, b.shape[0]
    c = np.empty((m, n), np.float32)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_kernel[grid](a8, b8, c, a_scale, b_scale, m, n, k, BM=32, BN=32, BK=64)
    return c


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((70, 150), np.float32)
    b = rng.standard_normal((50, 150), np.float32)
    got = matmul(a, b)
    # Each operand is off by at most 2^-4 of itself (3 bits of mantissa), or half the smallest step.
    bound = (2.0**-4 * 2.1) * (np.abs(a) @ np.abs(b).T)
    assert (np.abs(got - a @ b.T) <= bound).all()
    print(f"fp8 matmul: mean error {np.abs(got - a @ b.T).mean():.3f}, within its bound")

"""Matrix product with grouped order: neighbouring program instances share rows in the cache."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def place(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The block of the output that instance `pid` computes, GROUP rows of blocks at a time."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    inside = pid % (GROUP * columns)
    return first + inside % height, inside // height


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pm, pn = place(tl.program_id(0), M, N, BM, BN, GROUP)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inside = rk < K - k
        at = tl.load(a, mask=(rm[:, None] < M) & inside[None, :], other=0.0)
        bt = tl.load(b, mask=inside[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(at, bt, acc)
        a += BK * sak
        b += BK * sbk
    c = c_ptr + rm[:, None] * scm + rn[None, :] * scn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`m k, k n -> m n` for any strides."""
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), a.dtype)
    strides = [s // x.itemsize for x in (a, b, c) for s in x.strides]
    grid = (triton.cdiv(m, 32) * triton.cdiv(n, 64),)
    matmul_kernel[grid](a, b, c, m, n, k, *strides, BM=32, BN=64, BK=32, GROUP=4)
    return c


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((130, 100)).astype(np.float16)
    b = rng.standard_normal((90, 100)).astype(np.float16).T
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(matmul(a, b).astype(np.float32), wanted, rtol=2e-3, atol=2e-3)
    print("matmul: close to NumPy")

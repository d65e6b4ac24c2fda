"""A projection split along K, with three bugs: halves of K race for one output, a load has no fill
value, and a row of `x` divides by zero. The pictures of docs/screen.md are made of it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def normalise(x, norm):
    """Rows divided by their norms."""
    return x / norm[:, None]


@triton.jit
def project(
    x_ptr, norm_ptr, w_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    norm = tl.load(norm_ptr + rows, mask=rows < M, other=1.0)
    x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M)
    x = normalise(x, norm)
    w = tl.load(w_ptr + ks[:, None] * N + columns[None, :])
    part = tl.dot(x, w)
    out_ptrs = out_ptr + rows[:, None] * N + columns[None, :]
    before = tl.load(out_ptrs, mask=inside, other=0.0)
    tl.store(out_ptrs, before + part, mask=inside)


def main():
    rng = np.random.default_rng(0)
    M, N, K = 120, 96, 64
    x = rng.normal(size=(M, K)).astype(np.float32) * np.linspace(0.2, 2, K, dtype=np.float32)
    norm = np.linalg.norm(x, axis=1).astype(np.float32)
    x[115], norm[115] = 0, 0
    w = rng.normal(size=(K, N)).astype(np.float32)
    out = np.zeros((M, N), np.float32)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), 2)
    project[grid](x, norm, w, out, M, N, K, BLOCK_M=16, BLOCK_N=16, BLOCK_K=32)
    print("largest element", np.nanmax(out))


if __name__ == "__main__":
    main()

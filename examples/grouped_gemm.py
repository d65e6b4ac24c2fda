"""Many matrix products of different sizes in one launch; a table of addresses says where they are.

The program instances share the blocks of all products: instance p takes every P-th block.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def grouped_kernel(
    a_table, b_table, c_table, sizes_ptr, products,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    end = 0
    for product in range(products):
        M = tl.load(sizes_ptr + product * 3)
        N = tl.load(sizes_ptr + product * 3 + 1)
        K = tl.load(sizes_ptr + product * 3 + 2)
        columns = tl.cdiv(N, BN)
        begin = end
        end = begin + tl.cdiv(M, BM) * columns
        while block < end:
            a_ptr = tl.load(a_table + product).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_table + product).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_table + product).to(tl.pointer_type(tl.float16))
            rm = (block - begin) // columns * BM + tl.arange(0, BM)
            rn = (block - begin) % columns * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                rk = k + tl.arange(0, BK)
                in_a = (rm[:, None] < M) & (rk[None, :] < K)
                in_b = (rk[:, None] < K) & (rn[None, :] < N)
                a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=in_a, other=0.0)
                b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=in_b, other=0.0)
                acc = tl.dot(a, b, acc)
            in_c = (rm[:, None] < M) & (rn[None, :] < N)
            tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=in_c)
            block += PROGRAMS


def grouped_matmul(pairs: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """`m k, k n -> m n` for every pair."""
    outs = [np.empty((a.shape[0], b.shape[1]), np.float16) for a, b in pairs]
    tables = [
        np.array([x.ctypes.data for x in xs], np.int64)
        for xs in ([a for a, _ in pairs], [b for _, b in pairs], outs)
    ]
    sizes = np.array([(a.shape[0], b.shape[1], a.shape[1]) for a, b in pairs], np.int32)
    grouped_kernel[(5,)](*tables, sizes, len(pairs), PROGRAMS=5, BM=32, BN=32, BK=32)
    return outs


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    sizes = [(64, 96, 32), (33, 17, 70), (128, 40, 64)]
    pairs = [
        (
            rng.standard_normal((m, k)).astype(np.float16),
            rng.standard_normal((k, n)).astype(np.float16),
        )
        for m, n, k in sizes
    ]
    for (a, b), c in zip(pairs, grouped_matmul(pairs), strict=True):
        wanted = a.astype(np.float32) @ b.astype(np.float32)
        np.testing.assert_allclose(c.astype(np.float32), wanted, rtol=4e-3, atol=4e-3)
    print("grouped gemm: close to NumPy")

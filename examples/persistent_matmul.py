"""A persistent matrix product with tensor descriptors: as many program instances as the device has
multiprocessors, each computing block after block. Descriptors move whole blocks and pad the edges."""

import numpy as np

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def persistent_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """C = A @ B^T: the descriptors hold A (M x K), B (N x K) and C (M x N)."""
    columns = tl.cdiv(N, BN)
    blocks = tl.cdiv(M, BM) * columns
    for block in tl.range(tl.program_id(0), blocks, PROGRAMS, flatten=True):
        row = block // columns * BM
        column = block % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            a = a_desc.load([row, k])
            b = b_desc.load([column, k])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([row, column], acc.to(c_desc.dtype))


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`m k, n k -> m n`; rows must be a multiple of 16 bytes long."""
    (m, k), n = a.shape, b.shape[0]
    c = np.empty((m, n), a.dtype)
    device = triton.runtime.driver.active.get_current_device()
    properties = triton.runtime.driver.active.utils.get_device_properties(device)
    blocks = triton.cdiv(m, 32) * triton.cdiv(n, 32)
    programs = min(properties["multiprocessor_count"], blocks)
    persistent_kernel[(programs,)](
        TensorDescriptor.from_tensor(a, [32, 32]),
        TensorDescriptor.from_tensor(b, [32, 32]),
        TensorDescriptor.from_tensor(c, [32, 32]),
        m, n, k, BM=32, BN=32, BK=32, PROGRAMS=programs,
    )  # fmt: skip
    return c


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((100, 72)).astype(np.float16)
    b = rng.standard_normal((88, 72)).astype(np.float16)
    wanted = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(matmul(a, b).astype(np.float32), wanted, rtol=4e-3, atol=4e-3)
    print("persistent matmul: close to NumPy")

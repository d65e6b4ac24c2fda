"""One softmax of a product in several float formats, switched by a compile-time value: a table of them is
printed by `blockstep precision --dtypes fp8e4nv,fp8e5,bf16,fp16,tf32,fp32 examples/formats.py`.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scores_kernel(q_ptr, k_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr, FORMAT: tl.constexpr):
    rows, dims = tl.arange(0, N), tl.arange(0, D)
    at = rows[:, None] * D + dims[None, :]
    q, k = tl.load(q_ptr + at).to(FORMAT), tl.load(k_ptr + at).to(FORMAT)
    s = tl.dot(q, tl.trans(k), input_precision="ieee")
    e = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = e / tl.sum(e, axis=1)[:, None]
    tl.store(out_ptr + rows[:, None] * N + rows[None, :], p)


def main() -> None:
    """Attention scores in float16, as near to NumPy's as float16 allows."""
    random = np.random.default_rng(0)
    q, k = (random.normal(size=(32, 32)).astype(np.float32) for _ in range(2))
    out = np.zeros((32, 32), np.float32)
    scores_kernel[(1,)](q, k, out, N=32, D=32, FORMAT=tl.float16)
    s = q.astype(np.float64) @ k.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    assert np.abs(out - e / e.sum(axis=1, keepdims=True)).max() < 0.01
    print("formats: float16 scores within 0.01 of NumPy's")


if __name__ == "__main__":
    main()

"""Attention without the matrix of scores: a running maximum and sum for each query row."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, S,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    pm, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    base = head * S * D
    rm, rn, rd = pm * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    rows = rm[:, None] < S
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rows, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = min(S, (pm + 1) * BM) if CAUSAL else S
    for start in range(0, end, BN):
        cols = start + rn
        inside = cols < S
        k = tl.load(k_ptr + base + cols[None, :] * D + rd[:, None], inside[None, :], other=0.0)
        s = tl.dot(q, k) * scale
        allowed = inside[None, :] & (rm[:, None] >= cols[None, :]) if CAUSAL else inside[None, :]
        s = tl.where(allowed, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + base + cols[:, None] * D + rd[None, :], inside[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        top = new_top
    out = (acc / total[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], out, mask=rows)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """`h s d, h s d, h s d -> h s d`."""
    heads, s, d = q.shape
    out = np.empty_like(q)
    scale = float(1 / np.sqrt(d) / np.log(2))  # powers of two instead of e
    grid = (triton.cdiv(s, 32), heads)
    attention_kernel[grid](q, k, v, out, scale, s, D=d, BM=32, BN=32, CAUSAL=causal)
    return out


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(s.shape[1], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    out: np.ndarray = p / p.sum(-1, keepdims=True) @ v
    return out


if __name__ == "__main__":
    q, k, v = np.random.default_rng(0).standard_normal((3, 2, 100, 32)).astype(np.float16)
    for causal in (False, True):
        got = attention(q, k, v, causal).astype(np.float64)
        np.testing.assert_allclose(got, expected(q, k, v, causal), rtol=1e-2, atol=1e-2)
    print("attention: close to NumPy, full and causal")

"""Rotary position embedding in place: pairs of channels turn by an angle that grows with position."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, heads, HALF: tl.constexpr, HEADS: tl.constexpr):
    position = tl.program_id(0)
    head = tl.arange(0, HEADS)[:, None]
    pair = tl.arange(0, HALF)[None, :]
    mask = head < heads
    first = x_ptr + (position * heads + head) * (2 * HALF) + pair
    second = first + HALF
    cos = tl.load(cos_ptr + position * HALF + pair)
    sin = tl.load(sin_ptr + position * HALF + pair)
    a = tl.load(first, mask=mask)
    b = tl.load(second, mask=mask)
    tl.store(first, a * cos - b * sin, mask=mask)
    tl.store(second, b * cos + a * sin, mask=mask)


def rotate(x: np.ndarray, base: float = 10_000.0) -> None:
    """`s h d`, in place; d is even."""
    positions, heads, d = x.shape
    angles = np.arange(positions)[:, None] * base ** (-np.arange(d // 2) / (d // 2))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    padded = triton.next_power_of_2(heads)
    rotary_kernel[(positions,)](x, cos, sin, heads, HALF=d // 2, HEADS=padded)


if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal((20, 6, 32), np.float32)
    turned = x.copy()
    rotate(turned)
    z = x[..., :16] + 1j * x[..., 16:]
    angles = np.arange(20)[:, None, None] * 10_000.0 ** (-np.arange(16) / 16)
    z = z * np.exp(1j * angles)
    np.testing.assert_allclose(turned, np.concatenate([z.real, z.imag], -1), rtol=1e-4, atol=1e-5)
    print("rotary embedding: close to NumPy")

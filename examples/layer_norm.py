"""Layer normalisation, forward and backward; the weights' gradients are summed under locks.

Backward runs one program instance for each row. Rows share a few partial sums, and a spin lock
guards each: taken by a compare-and-swap (acquire), given back by an exchange (release).
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * n + cols, centred * rstd * w + b, mask=mask)


@triton.jit
def backward_kernel(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, lock_ptr, n,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * n + cols, mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    rstd = tl.load(rstd_ptr + row)
    unit = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    scaled = w * dy
    along = tl.sum(unit * scaled, axis=0) / n
    dx = (scaled - (unit * along + tl.sum(scaled, axis=0) / n)) * rstd
    tl.store(dx_ptr + row * n + cols, dx, mask=mask)
    group = row % GROUPS
    lock = lock_ptr + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    dw = dw_ptr + group * n + cols
    db = db_ptr + group * n + cols
    tl.store(dw, tl.load(dw, mask=mask) + dy * unit, mask=mask)
    tl.store(db, tl.load(db, mask=mask) + dy, mask=mask)
    tl.debug_barrier()  # every store of this instance comes before the release
    tl.atomic_xchg(lock, 0)


def forward(x, w, b, eps=1e-5):
    """`m n, n, n -> m n`, and mean and reciprocal deviation of each row."""
    rows, n = x.shape
    y, mean, rstd = np.empty_like(x), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
    block = triton.next_power_of_2(n)
    forward_kernel[(rows,)](x, y, w, b, mean, rstd, n, eps, BLOCK=block)
    return y, mean, rstd


def backward(dy, x, w, mean, rstd, groups=4):
    """Gradients of x, w and b."""
    rows, n = x.shape
    dx = np.empty_like(x)
    dw, db = np.zeros((groups, n), x.dtype), np.zeros((groups, n), x.dtype)
    locks = np.zeros(groups, np.int32)
    block = triton.next_power_of_2(n)
    backward_kernel[(rows,)](dy, x, w, mean, rstd, dx, dw, db, locks, n, GROUPS=groups, BLOCK=block)
    return dx, dw.sum(0), db.sum(0)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, 37, 200), np.float32)
    w, b = rng.standard_normal((2, 200), np.float32)
    y, mean, rstd = forward(x, w, b)
    unit = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, unit * w + b, rtol=1e-4, atol=1e-5)
    dx, dw, db = backward(dy, x, w, mean, rstd)
    g = w * dy
    inner = (unit * g).mean(1, keepdims=True) * unit + g.mean(1, keepdims=True)
    wanted = (g - inner) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(dx, wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(dw, (dy * unit).sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(db, dy.sum(0), rtol=1e-4, atol=1e-4)
    print("layer norm: forward and backward close to NumPy")

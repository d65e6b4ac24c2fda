"""Found by the fuzzer (case 925): bits."""

import ml_dtypes
import numpy as np

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import Empty, agree


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def least(x, y):
    return tl.where(x < y, x, y)


@triton.jit
def second(x, y):
    return y


@triton.jit
def mixed(x, y):
    return x + y - x * y


@triton.jit
def kernel(x1, b18, n):
    p = 0
    v2 = tl.load(x1, mask=p < n, other=0)
    tl.store(b18, v2 << 2)


GRID = (2,)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    x1 = np.frombuffer(random.bytes(12 * np.dtype(np.int64).itemsize), np.int64).copy()
    b18 = np.frombuffer(random.bytes(383 * np.dtype(np.int64).itemsize), np.int64).copy()
    return [x1, b18, 381]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

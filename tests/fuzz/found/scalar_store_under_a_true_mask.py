"""Found by the fuzzer (case 190): findings ['overlap']."""

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
def kernel(b6, n):
    p = 1
    v7 = n != 0
    tl.store(b6 + p, 0, mask=v7)
    v11 = tl.load(b6 + p)


GRID = (1, 1)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    b6 = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0], 6).astype(np.float64)
    return [b6, 2]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

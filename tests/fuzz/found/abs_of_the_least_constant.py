"""Found by the fuzzer (case 7831): findings ['overflow']."""

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
def kernel(b10):
    at3 = tl.arange(0, 8)[None, :]
    v11 = tl.abs(tl.full([1, 8], 128, tl.int8)) < 8
    tl.store(b10 + at3, 0, mask=v11)


GRID = (1, 1)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    b10 = random.integers(0, 5, 8).astype(np.uint8)
    return [b10]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

"""Found by the fuzzer (case 1205): findings ['uninitialised']."""

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
def kernel(b1, a7):
    p = 0
    v2 = tl.load(b1)
    v8 = p != 0
    v9 = tl.atomic_add(a7, v2, mask=v8)
    if v9:
        pass


GRID = (1, 1)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    b1 = random.integers(0, 2, 48).astype(np.uint32)
    b1 = b1[::-3]
    a7 = random.normal(size=3).astype(np.float16)
    return [b1, a7]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

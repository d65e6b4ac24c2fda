"""Found by the fuzzer (case 1619): error."""

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
def kernel(a4, b13):
    p = tl.program_id(0)
    at0 = tl.arange(0, 32)
    v5 = tl.atomic_add(a4, 7, mask=0 < p)
    tl.store(b13 + at0, v5, mask=at0 < p)


GRID = (2,)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    a4 = random.integers(0, 5, 3).astype(np.uint32)
    b13 = random.normal(size=320).astype(ml_dtypes.bfloat16)
    return [a4, b13]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

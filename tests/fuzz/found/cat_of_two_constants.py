"""Found by the fuzzer (case 100004): bits."""

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
def guarded(x, y, on):
    if on:
        return x
    return y


@triton.jit
def turned(x, y, n):
    for i in range(n):
        if i % 2 == 0:
            x, y = y, x
    return x


@triton.jit
def kernel(o9):
    tl.store(o9, tl.sum(tl.cat(tl.full([8], 0.333, tl.float16), tl.full([8], 1000.0, tl.float16), can_reorder=True), axis=0))


GRID = (1,)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    o9 = np.zeros(12, np.float16)
    return [o9]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))

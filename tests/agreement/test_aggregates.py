"""Methods that change an aggregate in place, in loops and branches that programs take differently."""

from __future__ import annotations

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import on_grid


@triton.aggregate
class Counter:
    value: tl.tensor

    def __init__(self, _semantic=None):
        self.value = tl.full([], 0, tl.int32)

    def add(self, n, _semantic=None):
        self.value = self.value + n


@triton.jit
def in_a_loop(out):
    p = tl.program_id(0)
    counter = Counter()
    for i in range(p):
        counter.add(i)
    tl.store(out + p, counter.value)


@triton.jit
def in_a_while(out):
    p = tl.program_id(0)
    counter = Counter()
    i = p * 0
    while i < p:
        counter.add(i)
        i += 1
    tl.store(out + p, counter.value)


@triton.jit
def in_a_branch(out):
    p = tl.program_id(0)
    counter = Counter()
    if p % 2 == 0:
        counter.add(p * (p - 1) // 2)
    else:
        for i in range(p):
            if i > 0:
                counter.add(i)
    tl.store(out + p, counter.value)


@pytest.mark.parametrize("kernel", [in_a_loop, in_a_while, in_a_branch], ids=lambda k: k.__name__)
def test_an_aggregate_is_changed_in_place(kernel) -> None:
    found = on_grid(kernel, (6,), np.zeros(6, np.int32))
    assert found.outputs[0].tolist() == [p * (p - 1) // 2 for p in range(6)]

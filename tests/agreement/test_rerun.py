"""What the grid machine wrote before it gave a launch up is not there when the step machine runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.frontend import build_bound
from blockstep.interp.grid.plan import plan
from blockstep.runtime.arguments import bind
from blockstep.runtime.launch_options import OPTIONS
from tests.agreement.agree import Empty, agree, on_grid

N = 8


@triton.jit
def led(x, out, N: tl.constexpr, HOW: tl.constexpr):
    """What the instance before stored in `x` decides where this one stores in `out`."""
    p = tl.program_id(0)
    v = tl.load(x + (p + N - 1) % N)
    tl.store(x + p, 7)
    if HOW == "address":
        tl.store(out + v, 1)
    elif HOW == "mask":
        tl.store(out + p, 1, mask=v != 7)
    elif HOW == "branch":
        if v != 7:
            tl.store(out + p, 1)
    elif HOW == "bound":
        for i in range(N - 1 - v):
            tl.store(out + i, 1)
    elif HOW == "carried":
        at = p
        for _ in range(2):
            at = v
        tl.store(out + at, 1)
    elif HOW == "while":
        at = 0
        while at < v:
            at += 1
        tl.store(out + at, 1)
    elif HOW == "value":
        tl.store(out + p, v)


@triton.jit
def added(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    for _ in range(2):
        v += tl.load(y + i, mask=i < n, other=0)
    tl.store(x + i, v, mask=i < n)
    tl.store(out + i, v * 2, mask=i < n)


@triton.jit
def repeated(at, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + tl.load(at + i), 1)


def steering(kernel: Any, *arguments: Any, **named: Any) -> frozenset[str] | None:
    """The parameters that decide where a launch stores."""
    bound = bind(kernel.params, arguments, named, kernel=kernel.__name__, options=OPTIONS)
    return plan(build_bound(kernel, bound.arguments, 4)).steering


HOW = ("address", "mask", "branch", "bound", "carried", "while", "value")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_store_that_went_elsewhere_is_taken_back(how: str, fresh: bool) -> None:
    x = np.arange(N, dtype=np.int32) % 4
    out: Any = Empty((N,), np.int32) if fresh else np.zeros(N, np.int32)
    found = agree(led, (N,), x, out, N=N, HOW=how)
    assert "race" in [f[0] for f in found.findings]


@pytest.mark.parametrize("how", HOW)
def test_only_what_decides_where_to_store_is_in_the_way(how: str) -> None:
    x, out = (np.zeros(N, np.int32) for _ in range(2))
    wanted = frozenset({"x"} if how != "value" else ())
    assert steering(led, x, out, N=N, HOW=how) == wanted


def test_nothing_steers_an_elementwise_kernel() -> None:
    arguments = [np.arange(20, dtype=np.int32) for _ in range(3)]
    assert steering(added, *arguments, 20, B=8) == frozenset()
    on_grid(added, (3,), *arguments, 20, B=8)


def test_lanes_that_repeat_addresses_write_nothing_between() -> None:
    at = np.array([0, 0, 2, 3], np.int32)
    found = agree(repeated, (1,), at, Empty((4,), np.int32), B=4)
    (hole,) = found.findings
    assert hole[0] == "grid" and hole[5] == ((1,),)

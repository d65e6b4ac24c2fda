"""What runs ahead of a loop of products, and what lanes that wait for memory see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.ir import Function
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.compiler.lowered import TARGETS, compiled

Array = np.ndarray[Any, Any]


def half(*shape: int) -> Array:
    return np.zeros(shape, np.float16)


SUMS = np.zeros((64, 64), np.float32)


def names(function: Function) -> list[str]:
    return [operation.name for operation in function.walk()]


@triton.jit
def described(a, b, c, WRITES: tl.constexpr, K: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    if WRITES:
        a.store([0, 0], tl.full((64, BK), 1.0, tl.float16))
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


def test_the_copy_engine_does_not_read_what_the_kernel_stores() -> None:
    """Its copies see no lane's stores without a fence of their own."""
    a = TensorDescriptor.from_tensor(half(64, 256), [64, 64])
    b = TensorDescriptor.from_tensor(half(256, 64), [64, 64])
    for writes, boxes in ((False, 2), (True, 1)):
        placed = compiled(described, (a, b, SUMS, writes, 256, 64)).placed
        rings = {op.operands[0] for op in placed.walk() if op.name == "tensor_copy"}
        assert len(rings) == boxes
        if writes:
            after = names(placed)[names(placed).index("store") :]
            first, second = [i for i, name in enumerate(after) if name == "async_copy"][:2]
            assert "barrier" in after[first:second]  # the first copies what its lane stored


@triton.jit
def made(a, b, c, start, K, BK: tl.constexpr, TURNS: tl.constexpr, AGAIN: tl.constexpr):
    left = tl.make_tensor_descriptor(a + start, [64, K], [K, 1], [64, BK])
    right = tl.make_tensor_descriptor(b, [K, 64], [64, 1], [BK, 64])
    sums = tl.make_tensor_descriptor(c, [64, 64], [64, 1], [64, 64])
    for turn in range(TURNS):
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(0, K, BK):
            if AGAIN:
                left = tl.make_tensor_descriptor(a + k, [64, K], [K, 1], [64, BK])
            acc = tl.dot(left.load([0, k]), right.load([k, 0]), acc)
        sums.store([turn * 64, 0], acc.to(tl.float16))


@pytest.mark.parametrize(
    ("start", "again", "maps"),
    [(16, False, 3), (4, False, 2), (16, True, 2)],
    ids=["aligned", "a base that may not be", "another one in each turn of the inner loop"],
)
def test_maps_of_the_kernel_are_made_once_ahead_of_the_loops(
    start: int, again: bool, maps: int
) -> None:
    """Of the arrays that the engine can find; loads of others stay what they were."""
    given = half(64, 256), half(256, 64), half(64, 64), start, 256, 64, 4, again
    code = compiled(made, given)
    found = names(code.placed)
    assert found.count("tensor_map") == maps and code.module.scratch == 128 * maps
    last = max(i for i, name in enumerate(found) if name == "tensor_map")
    assert last < found.index("for")
    assert found.count("tensor_store") == 1
    copied = {op.operands[4] for op in code.placed.walk() if op.name == "tensor_copy"}
    assert len(copied) == maps - 1


@triton.jit
def waiting(flag, out, N: tl.constexpr):
    seen = tl.load(flag, volatile=True)
    if seen > 0:
        i = tl.arange(0, N)
        tl.store(out + i, tl.cumsum(i, 0))


@pytest.mark.parametrize("target", TARGETS)
def test_all_lanes_see_one_value_of_volatile_memory(target: str) -> None:
    """It may change between two lanes' loads, and the barriers behind a branch are for all."""
    arguments = np.zeros(1, np.int32), np.zeros(256, np.int32), 256
    ptx = compiled(waiting, arguments, target).ptx
    loaded, branch = ptx.index("ld.volatile.global"), ptx.index("setp.lt.s32")
    assert "ld.shared" in ptx[loaded:branch]

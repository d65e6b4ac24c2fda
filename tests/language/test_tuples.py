"""Tuples and named tuples in kernels: made, taken apart, passed, returned, carried."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl


class Pair(NamedTuple):
    """Two things that go together."""

    first: Any
    second: Any


class Plan(NamedTuple):
    """A pointer, a constant and a pair."""

    pointer: Any
    size: tl.constexpr
    pair: Any


def ints(n: int) -> Any:
    return np.zeros(n, np.int32)


@triton.jit
def swap(a, b):
    return b, a


@triton.jit
def unpacked(out):
    a, b = swap(1, tl.program_id(0) + 2)
    (c, d), e = swap(a, b), 5
    tl.store(out, a * 10000 + b * 1000 + c * 100 + d * 10 + e)


def test_a_tuple_is_returned_and_taken_apart() -> None:
    out = ints(1)
    unpacked[(1,)](out)
    assert out[0] == 21125


@triton.jit
def indexed(out, values, AT: tl.constexpr):
    tl.store(out, values[AT])
    tl.store(out + 1, values[-1])
    tl.store(out + 2, len(values))
    rest = values[1:]
    tl.store(out + 3, rest[0])
    both = values + (7, 8)
    tl.store(out + 4, len(both))
    tl.store(out + 5, both[4])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_argument_is_a_tuple(at: int) -> None:
    out = ints(6)
    indexed[(1,)](out, (11, 22, 33), AT=at)
    assert out.tolist() == [(11, 22, 33)[at], 33, 3, 22, 5, 8]


@triton.jit
def pointers(outs, values):
    for i in tl.static_range(len(outs)):
        tl.store(outs[i], values[i])


def test_pointers_and_numbers_of_several_types_in_a_tuple() -> None:
    a, b, c = np.zeros(1, np.int64), np.zeros(1, np.float32), np.zeros(1, np.bool_)
    with triton.check() as report:
        pointers[(1,)]((a, b, c), (2**40, 0.5, True))
    assert not report.findings
    assert (a[0], b[0], c[0]) == (2**40, 0.5, True)


@triton.jit
def named(pair, plan):
    tl.static_assert(plan.size == 4)
    offsets = tl.arange(0, plan.size)
    tl.store(plan.pointer + offsets, pair.first * offsets + plan.pair.second)


def test_fields_have_names() -> None:
    out = ints(4)
    named[(1,)](Pair(10, None), Plan(out, tl.constexpr(4), Pair(0, 3)))
    assert out.tolist() == [3, 13, 23, 33]


@triton.jit
def make_pair(a, b):
    return Pair(b, a)


@triton.jit
def built(out):
    pair = make_pair(1, tl.program_id(0) + 2)
    tl.store(out, pair.first * 10 + pair.second)


def test_a_kernel_builds_a_named_tuple() -> None:
    out = ints(1)
    built[(1,)](out)
    assert out[0] == 21


@triton.jit
def carried(out, n):
    state = (0, 1)
    for _ in range(n):
        state = (state[1], state[0] + state[1])
    tl.store(out, state[0])


def test_a_loop_carries_a_tuple() -> None:
    out = ints(1)
    carried[(1,)](out, 10)
    assert out[0] == 55


@triton.jit
def compared(out, x):
    same = (x, 2) == (1, 2)
    tl.store(out, same)


@triton.jit
def from_comprehension(out, SHAPE: tl.constexpr):
    strides = [n * 2 for n in SHAPE]
    tl.store(out, strides[0] + strides[1])


def test_a_comprehension_gives_a_tuple() -> None:
    out = ints(1)
    from_comprehension[(1,)](out, SHAPE=(3, 4))
    assert out[0] == 14


@triton.jit
def assigns_an_item(out):
    values = (1, 2)
    values[0] = 3
    tl.store(out, values[0])


@triton.jit
def out_of_range(out):
    values = (1, 2)
    tl.store(out, values[2])


@triton.jit
def value_as_index(out):
    values = (1, 2)
    tl.store(out, values[tl.program_id(0)])


@pytest.mark.parametrize("kernel", [assigns_an_item, value_as_index], ids=lambda k: k.__name__)
def test_what_a_tuple_cannot_do(kernel: Any) -> None:
    with pytest.raises(triton.CompilationError):
        kernel[(1,)](ints(1))


def test_an_index_past_the_end() -> None:
    with pytest.raises((triton.CompilationError, IndexError)):
        out_of_range[(1,)](ints(1))

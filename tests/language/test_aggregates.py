"""Classes of values: built, passed, changed by their methods, with constants and tuples in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl


def ints(n: int = 1) -> Any:
    return np.zeros(n, np.int32)


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first, second):
        self.first = first
        self.second = second

    @triton.jit
    def total(self):
        return self.first + self.second

    def get_second(self, _semantic=None):
        return self.second

    @triton.jit
    def swapped(self):
        return Pair(self.second, self.first)

    def __getitem__(self, ind: tl.constexpr, _semantic=None):
        return self.first if ind == 0 else self.second


@triton.jit
def uses(out):
    one = tl.program_id(0) + 1
    pair = Pair(one, one + 1)
    tl.store(out, pair.total())
    tl.store(out + 1, pair.get_second())
    tl.store(out + 2, pair.swapped().first)
    tl.store(out + 3, pair[0])
    tl.store(out + 4, pair[1])


def test_methods_items_and_fields() -> None:
    out = ints(5)
    uses[(1,)](out)
    assert out.tolist() == [3, 2, 2, 1, 2]


@triton.aggregate
class Sized:
    values: tl.tensor
    SIZE: tl.constexpr

    def __init__(self, values, SIZE):
        self.values = values
        self.SIZE = tl.constexpr(SIZE)

    @staticmethod
    def create(SIZE):
        return Sized(tl.arange(0, SIZE), SIZE)

    @triton.constexpr_function
    def twice(self):
        return self.SIZE * 2


@triton.jit
def sized(out):
    made = Sized.create(8)
    tl.static_assert(made.SIZE == 8)
    tl.store(out, tl.sum(made.values + tl.arange(0, made.SIZE)))
    tl.store(out + 1, tl.sum(tl.full([made.twice()], 1, tl.int32)))


def test_a_field_is_a_constant() -> None:
    out = ints(2)
    sized[(1,)](out)
    assert out.tolist() == [56, 16]


@triton.aggregate
class Counter:
    value: tl.tensor

    def __init__(self, _semantic=None):
        self.value = tl.full([], 0, tl.int32)

    def add(self, n, _semantic=None):
        self.value = self.value + n


@triton.jit
def counts(out, n):
    counter = Counter()
    for i in range(n):
        counter.add(i)
    tl.store(out, counter.value)


def test_a_method_changes_a_value_that_a_loop_carries() -> None:
    out = ints()
    counts[(1,)](out, 5)
    assert out[0] == 10


@triton.aggregate
class Forgetful:
    a: tl.tensor
    b: tl.tensor

    def __init__(self, a):
        self.a = a


@triton.jit
def forgets(out):
    made = Forgetful(tl.program_id(0))
    tl.store(out, made.a)


@triton.jit
def wrong_type(out):
    made = Sized(4, 4)
    tl.store(out, made.SIZE)


@triton.jit
def assigns_a_field(out):
    pair = Pair(tl.program_id(0), tl.program_id(0))
    pair.first = 3
    tl.store(out, pair.first)


@triton.jit
def adds_to_a_field(out):
    pair = Pair(tl.program_id(0), tl.program_id(0))
    pair.first += 3
    tl.store(out, pair.first)


def test_every_field_is_set_by_the_constructor() -> None:
    with pytest.raises(Exception, match="did not initialize attribute 'b'"):
        forgets[(1,)](ints())


def test_a_kernel_does_not_assign_fields() -> None:
    for kernel in (assigns_a_field, adds_to_a_field):
        with pytest.raises(triton.CompilationError):
            kernel[(1,)](ints())


def test_the_name_of_the_release_works_too() -> None:
    assert tl.core._aggregate is triton.aggregate


@triton.aggregate
class Wrapped:
    parts: tl.tuple

    @triton.constexpr_function
    def __init__(self, x):
        self.parts = tl.tuple((x, x))

    @staticmethod
    @triton.jit
    def create(x):
        return Wrapped(x)


@triton.jit
def wraps(out):
    made = Wrapped.create(tl.program_id(0) + 4)
    tl.store(out, made.parts[0] + made.parts[1])


def test_a_constructor_may_be_a_constexpr_function() -> None:
    out = ints()
    wraps[(1,)](out)
    assert out[0] == 8

"""Reductions: types, trees, combine functions of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.language import standard as std
from blockstep.language import types as ty
from blockstep.language.ops import reduce as ops
from blockstep.language.reduction import map_elementwise, reduce
from blockstep.language.region import Region, region_of
from blockstep.language.value import tensor

Block = Callable[..., tensor]
RNG = np.random.default_rng(3)

# columns of Triton's table: int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 fp16 bf16 fp32 fp64
KINDS = (ty.int1, *ty.INTEGERS[:4], *ty.INTEGERS[4:], *ty.FLOATS)
TYPES = {
    "sum": "uint32 int32 int32 int32 int64 uint32 uint32 uint32 uint64 fp16 bf16 fp32 fp64",
    "max": "int32 int32 int32 int32 int64 int32 int32 uint32 uint64 fp32 fp32 fp32 fp64",
    "min": "int32 int32 int32 int32 int64 int32 int32 uint32 uint64 fp32 fp32 fp32 fp64",
    "xor_sum": "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 - - - -",
    "reduce_or": "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 - - - -",
}


@pytest.mark.parametrize("name", TYPES)
def test_results_have_tritons_types(block: Block, name: str) -> None:
    for kind, expected in zip(KINDS, TYPES[name].split(), strict=True):
        x = block(np.ones((4, 8)), kind)
        if expected == "-":
            with pytest.raises(TypeError, match="integers"):
                getattr(std, name)(x, 1)
        else:
            assert getattr(std, name)(x, 1).type is ty.block_type(ty.dtype(expected), [4])


@pytest.mark.parametrize("kind", KINDS)
def test_indices_keep_the_type_except_bfloat16(block: Block, kind: ty.dtype) -> None:
    value, index = std.max(block(np.ones((4, 8)), kind), 1, return_indices=True)
    assert value.dtype is (ty.float32 if kind is ty.bfloat16 else kind)
    assert index.dtype is ty.int32


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("keep", [False, True])
def test_every_axis_is_reduced(block: Block, axis: int, keep: bool) -> None:
    x = RNG.integers(-50, 50, (4, 8, 2)).astype(np.int32)
    total = std.sum(block(x), axis, keep_dims=keep)
    np.testing.assert_array_equal(total.handle, x.sum(axis, keepdims=keep))
    np.testing.assert_array_equal(
        std.max(block(x), axis, keep_dims=keep).handle, x.max(axis, keepdims=keep)
    )
    first = std.argmin(block(x), axis, keep_dims=keep)
    np.testing.assert_array_equal(first.handle, x.argmin(axis, keepdims=keep))


def test_without_an_axis_all_elements_are_reduced(block: Block) -> None:
    x = RNG.integers(-50, 50, (4, 8)).astype(np.int32)
    assert std.sum(block(x)).type is ty.int32
    assert std.min(block(x)).handle == x.min()
    assert std.sum(block(x), keep_dims=True).shape == (1, 1)


def test_narrow_floats_round_at_every_step(block: Block) -> None:
    x = np.array([2048.0, 1.0, 1.0, 1.0])
    assert std.sum(block(x, ty.float16)).handle == 2050  # (2048 + 1) + (1 + 1): 2048 + 2
    assert std.sum(block(x, ty.float16), dtype=ty.float32).handle == 2051


def test_int1_sums_modulo_two_only_if_asked(block: Block) -> None:
    x = block(np.ones(32, bool))
    assert std.sum(x).handle == 32
    assert not std.sum(x, dtype=ty.int1).handle


def test_a_nan_never_wins_a_maximum(block: Block) -> None:
    x = np.array([1.0, np.nan, 3.0, np.nan], np.float32)
    assert std.max(block(x)).handle == 3
    assert std.min(block(x)).handle == 1
    assert np.isnan(std.max(block(np.full(4, np.nan, np.float32))).handle)


@pytest.mark.parametrize("function, name", [(std.max, "maximum"), (std.min, "minimum")])
def test_one_numpy_call_gives_the_bits_of_the_tree(function: Any, name: str, block: Block) -> None:
    region = region_of(getattr(std, f"_elementwise_{name[:3]}"), (ty.float32,) * 2, (ty.float32,))
    assert region is not None
    for _ in range(50):
        x = RNG.choice(np.array([0.0, -0.0, 1.0, -1.0, np.nan], np.float32), 8)
        tree = ops._tree([x], region)[0]
        assert np.float32(function(block(x)).handle).tobytes() == np.float32(tree).tobytes()


def test_the_tree_halves(block: Block) -> None:
    seen = reduce(block(np.arange(8.0)), 0, lambda a, b: a - b)
    x = np.arange(8.0)
    while len(x) > 1:
        x = x[: len(x) // 2] - x[len(x) // 2 :]
    assert seen.handle == x[0]


@pytest.mark.parametrize("left", [True, False])
def test_ties_break_to_the_smallest_index(block: Block, left: bool) -> None:
    x = np.array([1, 5, 0, 5, 5, 0, 2, 0], np.int32)
    assert x[std.argmax(block(x), 0, tie_break_left=left).handle] == 5
    if left:
        assert std.argmax(block(x), 0).handle == 1
        assert std.argmin(block(x), 0).handle == 2


def test_a_tuple_is_reduced_together(block: Block) -> None:
    """Welford's mean and sum of squares."""

    def combine(mean1: Any, m1: Any, n1: Any, mean2: Any, m2: Any, n2: Any) -> Any:
        delta = mean2 - mean1
        n = n1 + n2
        return mean1 + delta * (n2 / n), m1 + m2 + delta * delta * (n1 * n2 / n), n

    x = RNG.standard_normal(64).astype(np.float32)
    mean, squares, count = reduce(
        (block(x), block(np.zeros_like(x)), block(np.ones_like(x))), 0, combine
    )
    np.testing.assert_allclose([mean.handle, squares.handle / 64], [x.mean(), x.var()], rtol=1e-4)
    assert count.handle == 64


@pytest.mark.parametrize("axis", [0, 1])
def test_a_branching_combine_runs_for_each_element(block: Block, axis: int) -> None:
    def larger(a: Any, b: Any) -> Any:
        if a > b:
            return a
        return b

    x = RNG.integers(0, 100, (4, 8)).astype(np.int32)
    np.testing.assert_array_equal(reduce(block(x), axis, larger).handle, x.max(axis))
    assert region_of(larger, (ty.int32,) * 2, (ty.int32,)) is None


def test_a_captured_value_is_no_region(block: Block) -> None:
    bias = block(np.int32(10))
    found = reduce(block(np.arange(4, dtype=np.int32)), 0, lambda a, b: a + b + bias)
    assert found.handle == 6 + 3 * 10


def test_a_combine_that_changes_the_type_is_rejected(block: Block) -> None:
    with pytest.raises(TypeError, match="returns fp32 where it was given int32"):
        reduce(block(np.arange(4, dtype=np.int32)), 0, lambda a, b: a + b + 0.5)
    with pytest.raises(TypeError, match="returns 1 values for 2"):
        x = block(np.arange(4, dtype=np.int32))
        reduce((x, x), 0, lambda a, b, c, d: a)


def test_a_number_takes_the_type_it_replaces(block: Block) -> None:
    found = reduce(block(np.arange(4), ty.float16), 0, lambda a, b: 7)
    assert found.type is ty.float16
    assert found.handle == 7


def test_regions_are_recorded_once(block: Block) -> None:
    region = region_of(std._sum_combine, (ty.float32,) * 2, (ty.float32,))
    assert isinstance(region, Region)
    assert region is region_of(std._sum_combine, (ty.float32,) * 2, (ty.float32,))
    assert [o.op.name for o in region.operations] == ["add"]
    assert region.types == (ty.float32,)


def test_an_axis_that_is_not_there_is_named(block: Block) -> None:
    with pytest.raises(ValueError, match="invalid axis 2"):
        std.sum(block(np.ones((2, 2))), 2)
    with pytest.raises(ValueError, match="scalar"):
        std.sum(block(np.float32(1)))


@triton.jit
def _largest_first(a, ai, b, bi):
    take = (a > b) | ((a == b) & (ai < bi))
    return tl.where(take, a, b), tl.where(take, ai, bi)


@triton.jit
def _branching(a, b):
    if a < b:
        return -1
    elif a == b:
        return 0
    else:
        return 1


def test_jit_functions_combine_inside_a_kernel() -> None:
    @triton.jit
    def kernel(X, Z, N: tl.constexpr):
        i = tl.arange(0, N)
        value, index = tl.reduce((tl.load(X + i), i), 0, _largest_first)
        tl.store(Z, value)
        tl.store(Z + 1, index.to(tl.float32))

    x, z = RNG.permutation(64).astype(np.float32), np.zeros(2, np.float32)
    kernel[(1,)](x, z, 64)
    assert z.tolist() == [63.0, float(x.argmax())]


def test_a_function_that_branches_is_mapped_over_elements() -> None:
    @triton.jit
    def kernel(X, Y, Z, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(Z + i, tl.map_elementwise(_branching, tl.load(X + i), tl.load(Y + i)))

    x, y = RNG.integers(0, 4, (2, 16)).astype(np.int32)
    z = np.zeros(16, np.int32)
    kernel[(1,)](x, y, z, 16)
    np.testing.assert_array_equal(z, np.sign(x - y))


def test_a_mapped_function_may_return_several_values(block: Block) -> None:
    x, y = np.arange(1, 9, dtype=np.uint32), np.arange(8, 0, -1, dtype=np.uint32)
    quotient, rest = map_elementwise(lambda a, b: (a // b, a % b), block(x), block(y))
    np.testing.assert_array_equal(quotient.handle, x // y)
    np.testing.assert_array_equal(rest.handle, x % y)


def test_packed_elements_are_neighbours(block: Block) -> None:
    x, y = np.arange(16, dtype=np.int32).reshape(2, 8), np.int32(3)
    total, first = map_elementwise(
        lambda a0, a1, b0, b1: (a0 + b0, a1 + b1, a0, a0), block(x), block(y), pack=2
    )
    np.testing.assert_array_equal(total.handle, x + 3)
    np.testing.assert_array_equal(first.handle, x // 2 * 2)

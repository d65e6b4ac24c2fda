"""Scans: types, directions, associative functions that do not commute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockstep.language import standard as std
from blockstep.language import types as ty
from blockstep.language.elementwise import where
from blockstep.language.reduction import associative_scan
from blockstep.language.value import tensor

Block = Callable[..., tensor]
RNG = np.random.default_rng(5)

KINDS = (ty.int1, *ty.INTEGERS, *ty.FLOATS)
TYPES = {
    "cumsum": "uint32 int32 int32 int32 int64 uint32 uint32 uint32 uint64 fp16 fp32 fp32 fp64",
    "cumprod": "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 fp16 fp32 fp32 fp64",
}


@pytest.mark.parametrize("name", TYPES)
def test_results_have_tritons_types(block: Block, name: str) -> None:
    for kind, expected in zip(KINDS, TYPES[name].split(), strict=True):
        found = getattr(std, name)(block(np.ones((4, 8)), kind), 1)
        assert found.type is ty.block_type(ty.dtype(expected), [4, 8])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", [ty.int32, ty.float32])
def test_running_sums(block: Block, axis: int, reverse: bool, kind: ty.dtype) -> None:
    x = RNG.integers(-9, 9, (8, 16))
    order = np.flip(x, axis) if reverse else x
    expected = np.cumsum(order, axis)
    expected = np.flip(expected, axis) if reverse else expected
    np.testing.assert_array_equal(std.cumsum(block(x, kind), axis, reverse).handle, expected)


def test_the_left_operand_comes_first(block: Block) -> None:
    """x_i = a_i * x_{i-1} + b_i, which depends on the order of operands."""

    def recurrence(a1: Any, b1: Any, a2: Any, b2: Any) -> Any:
        return a1 * a2, b1 * a2 + b2

    a, b = RNG.integers(-1, 2, (2, 4, 32)).astype(np.int32)
    _, found = associative_scan((block(a), block(b)), 1, recurrence)
    x = np.zeros(4, int)
    for i in range(32):
        x = a[:, i] * x + b[:, i]
        np.testing.assert_array_equal(found.handle[:, i], x)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_element_spreads(block: Block, reverse: bool) -> None:
    x = np.arange(16, dtype=np.float32)
    found = associative_scan(block(x), 0, lambda a, b: a, reverse)
    np.testing.assert_array_equal(found.handle, np.full(16, x[-1 if reverse else 0]))


def test_values_carry_their_index(block: Block) -> None:
    def latest_maximum(v0: Any, i0: Any, v1: Any, i1: Any) -> Any:
        return where(v0 > v1, v0, v1), where(v0 > v1, i0, i1)

    x = RNG.permutation(64).astype(np.int32)
    _, index = associative_scan((block(x), block(np.arange(64))), 0, latest_maximum)
    assert index.dtype is ty.int64
    np.testing.assert_array_equal(x[index.handle], np.maximum.accumulate(x))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_branching_combine_runs_for_each_element(block: Block, reverse: bool) -> None:
    def larger(a: Any, b: Any) -> Any:
        return a if a > b else b

    x = RNG.integers(0, 100, (2, 8)).astype(np.int32)
    order = x[:, ::-1] if reverse else x
    expected = np.maximum.accumulate(order, 1)
    expected = expected[:, ::-1] if reverse else expected
    found = associative_scan(block(x), 1, larger, reverse)
    np.testing.assert_array_equal(found.handle, expected)


def test_an_axis_that_is_not_there_is_named(block: Block) -> None:
    with pytest.raises(ValueError, match="invalid axis 1"):
        std.cumsum(block(np.ones(4)), 1)

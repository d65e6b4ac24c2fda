"""Sorting networks against NumPy's sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockstep.language import order
from blockstep.language import types as ty
from blockstep.language.value import tensor

Block = Callable[..., tensor]
RNG = np.random.default_rng(7)

KINDS = (ty.int1, *ty.INTEGERS, *ty.FLOATS)
SHAPES = [(1,), (2,), (1, 1), (1, 64), (8, 16), (64, 4), (2, 4, 8)]


def numbers(shape: tuple[int, ...]) -> Any:
    return RNG.integers(0, 100, shape)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_sorted(block: Block, shape: tuple[int, ...], descending: bool) -> None:
    x = numbers(shape).astype(np.float32)
    expected = np.sort(x, -1)[..., ::-1] if descending else np.sort(x, -1)
    np.testing.assert_array_equal(order.sort(block(x), descending=descending).handle, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_sorts_and_keeps_its_type(block: Block, kind: ty.dtype) -> None:
    x = block(numbers((4, 8)), kind)
    found = order.sort(x)
    assert found.type is x.type
    np.testing.assert_array_equal(found.handle, np.sort(x.handle.astype(np.float64), -1))


@pytest.mark.parametrize("k", [1, 2, 8, 16])
@pytest.mark.parametrize("descending", [True, False])
def test_the_k_first_are_kept(block: Block, k: int, descending: bool) -> None:
    x = numbers((4, 16)).astype(np.int32)
    expected = np.sort(x, -1)[..., ::-1] if descending else np.sort(x, -1)
    found = order.topk(block(x), k, descending=descending)
    np.testing.assert_array_equal(found.handle, expected[..., :k])


@pytest.mark.parametrize(
    "kind, result", [(ty.float16, ty.float32), (ty.int8, ty.int32), (ty.int64, ty.int64)]
)
def test_fewer_than_all_have_the_type_of_max(block: Block, kind: ty.dtype, result: Any) -> None:
    x = block(numbers((2, 8)), kind)
    assert order.topk(x, 4).dtype is result
    assert order.topk(x, 8).dtype is kind


@pytest.mark.parametrize("descending", [False, True])
def test_a_bitonic_row_is_merged(block: Block, descending: bool) -> None:
    row = np.sort(numbers((32,))).astype(np.int32)
    bitonic = np.concatenate([row[::2], row[1::2][::-1]])
    expected = row[::-1] if descending else row
    found = order.bitonic_merge(block(np.stack([bitonic] * 2)), descending=descending)
    np.testing.assert_array_equal(found.handle, np.stack([expected] * 2))


def test_infinities_and_extremes_sort(block: Block) -> None:
    x = np.array([np.inf, 1.0, -np.inf, 0.0], np.float32)
    np.testing.assert_array_equal(order.sort(block(x)).handle, np.sort(x))
    whole = np.array([2**63 - 1, -(2**63), 0, -1])
    np.testing.assert_array_equal(order.sort(block(whole)).handle, np.sort(whole))


def test_only_the_last_axis_and_powers_of_two(block: Block) -> None:
    x = block(numbers((4, 8)))
    with pytest.raises(ValueError, match="only minor dimension"):
        order.sort(x, dim=0)
    for k in (3, 16, 0):
        with pytest.raises(ValueError, match="power of 2 up to 8"):
            order.topk(x, k)

"""Which elements of the operands one element of a result came from, rule by rule."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from blockstep.interp.blame import products
from blockstep.interp.blame.parts import Parts, parts_of
from blockstep.interp.blame.ranking import largest
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.op import OPS
from blockstep.language.ops.dot import DOT, DOT_SCALED
from blockstep.language.value import tensor


def block(array: Any) -> tensor:
    kinds = {"float32": ty.float32, "int32": ty.int32, "bool": ty.int1}
    return tensor(array, ty.blocked(kinds[array.dtype.name], array.shape))


def moved(name: str, index: Any, *arrays: Any, number: int = 0, **attributes: Any) -> Parts:
    """The parts of one element of an operation on blocks, which must be equal to the only one."""
    op, operands = OPS[name], [block(a) for a in arrays]
    assert op.meaning is not None
    data = op.meaning(*arrays, **attributes)
    results = tuple(block(np.asarray(d)) for d in (data if isinstance(data, tuple) else (data,)))
    found = parts_of(op, operands, attributes, results, number, index)
    first = found.parts[0]
    assert arrays[first.operand][first.at] == results[number].handle[index]
    return found


X = np.arange(32, dtype=np.int32).reshape(4, 8)


@pytest.mark.parametrize("index", [(0, 0), (3, 7), (2, 1)])
def test_elements_that_only_move_are_found_where_they_were(index: Any) -> None:
    assert moved("permute", index[::-1], X, dims=(1, 0)).parts[0].at == index
    assert moved("flip", index, X, axis=-1).parts[0].at == (index[0], 7 - index[1])
    flat = index[0] * 8 + index[1]
    assert moved("reshape", (flat,), X, shape=(32,), rank=2).parts[0].at == index


def test_a_joined_block_knows_which_operand_an_element_came_from() -> None:
    y = X + 100
    assert moved("join", (1, 2, 1), X, y).parts == ((1, (1, 2), "value"),)
    assert moved("cat", (5, 3), X, y, axis=0).parts == ((1, (1, 3), "value"),)
    halves = np.stack([X, y], axis=-1)
    assert moved("split", (1, 2), halves, number=1).parts == ((0, (1, 2, 1), "value"),)


def test_a_gathered_element_has_its_index_beside_it() -> None:
    index = np.array([[5, 0], [1, 1], [0, 0], [2, 4]], np.int32)
    found = moved("gather", (3, 1), X, index, axis=1)
    assert found.parts == ((0, (3, 4), "value"), (1, (3, 1), "index"))


def test_two_infinities_that_cancel_are_both_told() -> None:
    line = np.array([1, np.inf, 2, np.inf, -np.inf], np.float32)
    assert largest(line, np.float32(np.nan), 3)[:2] == [1, 4]
    assert largest(line[:4], np.float32(np.inf), 3) == [1, 3, 2]


def test_nan_weighs_more_than_an_infinity() -> None:
    line = np.array([1, np.inf, np.nan, 5], np.float32)
    assert largest(line, np.float32(np.nan), 3) == [2, 1, 3]


def test_a_product_that_is_no_number_comes_first() -> None:
    a = np.array([[1, 0, 200]], np.float32)
    b = np.array([[1], [np.inf], [3]], np.float32)
    found = products.of(DOT, [a, b], {}, (0, 0), np.float32(np.nan), 2)
    assert found.pairs == (((0, 1), (1, 0)), ((0, 2), (2, 0)))


def test_small_floats_are_decoded_before_they_are_weighed() -> None:
    a = np.array([[1, 2, -8, 0.5]], ml_dtypes.float8_e4m3fn)
    b = np.array([[4], [4], [4], [64]], ml_dtypes.float8_e4m3fn)
    found = products.of(DOT, [a, b], {}, (0, 0), np.float32(0), 2)
    assert [left for left, _ in found.pairs] == [(0, 2), (0, 3)] and found.count == 4


def test_products_of_scaled_operands_add_up_to_the_element() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (16, 64)).astype(ml_dtypes.float8_e4m3fn)
    b = rng.integers(-4, 5, (64, 16)).astype(ml_dtypes.float8_e4m3fn)
    scales = [rng.integers(125, 130, (16, 2)).astype(np.uint8) for _ in range(2)]
    attributes = {
        "present": (True, True, False), "formats": ("e4m3", "e4m3"), "packs": (True, True),
    }  # fmt: skip
    wanted = numerics.dot_scaled(a, scales[0], "e4m3", b, scales[1], "e4m3", None)
    found = products.of(
        DOT_SCALED, [a, b, *scales], attributes, (3, 5), np.float32(wanted[3, 5]), 64
    )
    total = 0.0
    for left, right in found.pairs:
        k = left[1]
        assert right == (k, 5)
        factors = [
            2.0 ** (int(s[row, k // 32]) - 127) for s, row in zip(scales, (3, 5), strict=True)
        ]
        total += float(a[left]) * float(b[right]) * factors[0] * factors[1]
    assert total == float(wanted[3, 5])
    assert set(found.scales) == {(2, (3, 0)), (2, (3, 1)), (3, (5, 0)), (3, (5, 1))}


def test_a_packed_operand_is_told_by_the_byte_that_holds_the_number() -> None:
    a = np.zeros((16, 32), np.uint8)
    a[3, 20] = 0x70  # 6 in the upper half: k = 41
    b = np.ones((64, 16), ml_dtypes.float8_e4m3fn)
    attributes = {
        "present": (False, False, False), "formats": ("e2m1", "e4m3"), "packs": (True, True),
    }  # fmt: skip
    found = products.of(DOT_SCALED, [a, b], attributes, (3, 5), np.float32(6), 1)
    assert found.pairs == (((3, 20), (41, 5)),)

"""Functions that move elements, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockstep.language import shape, standard
from blockstep.language import types as ty
from blockstep.language.constant import constexpr
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

Block = Callable[..., tensor]
CUBE = np.arange(64, dtype=np.int32).reshape(4, 2, 8)

MOVES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: shape.reshape(x, 8, 8), lambda x: x.reshape(8, 8)),
    (lambda x: shape.reshape(x, (8, 8)), lambda x: x.reshape(8, 8)),
    (lambda x: shape.reshape(x, [16, constexpr(4)]), lambda x: x.reshape(16, 4)),
    (lambda x: shape.reshape(x, tl_tuple([64])), lambda x: x.reshape(64)),
    (lambda x: shape.reshape(x, constexpr((2, 32))), lambda x: x.reshape(2, 32)),
    (lambda x: shape.ravel(x), np.ravel),
    (lambda x: shape.expand_dims(x, 0), lambda x: x[None]),
    (lambda x: shape.expand_dims(x, -1), lambda x: x[..., None]),
    (lambda x: shape.expand_dims(x, (0, -1)), lambda x: x[None, ..., None]),
    (lambda x: shape.unsqueeze(x, 1), lambda x: x[:, None]),
    (lambda x: shape.squeeze(shape.unsqueeze(x, 2), 2), lambda x: x),
    (lambda x: shape.permute(x, 2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    (lambda x: shape.permute(x, (1, 0, 2)), lambda x: x.transpose(1, 0, 2)),
    (lambda x: shape.trans(x), lambda x: x.transpose(0, 2, 1)),
    (lambda x: shape.trans(x, [2, 1, 0]), lambda x: x.transpose(2, 1, 0)),
    (lambda x: shape.flip(x), lambda x: x[..., ::-1]),
    (lambda x: shape.flip(x, 0), lambda x: x[::-1]),
    (lambda x: shape.flip(x, -2), lambda x: x[:, ::-1]),
    (lambda x: shape.join(x, x), lambda x: np.stack([x, x], -1)),
    (lambda x: shape.interleave(x, x), lambda x: np.repeat(x, 2, -1)),
    (lambda x: shape.cat(x, x), lambda x: np.concatenate([x, x])),
    (lambda x: shape.cat(x, x, dim=-1), lambda x: np.concatenate([x, x], -1)),
    (lambda x: shape.broadcast_to(shape.expand_dims(x, 0), 2, 4, 2, 8), lambda x: np.stack([x, x])),
]


@pytest.mark.parametrize("ours, numpys", MOVES)
def test_elements_move_as_in_numpy(block: Block, ours: Any, numpys: Any) -> None:
    np.testing.assert_array_equal(ours(block(CUBE)).handle, numpys(CUBE))


@pytest.mark.parametrize("dtype", [ty.int1, ty.bfloat16, ty.float8e5, ty.uint64, ty.float64])
def test_every_type_moves(block: Block, dtype: ty.dtype) -> None:
    x = block(CUBE % 2, dtype)
    moved = shape.flip(shape.trans(shape.interleave(x, x)), 1)
    assert moved.type is ty.block_type(dtype, (4, 16, 2))
    expected = np.repeat(x.handle, 2, -1).transpose(0, 2, 1)[:, ::-1]
    assert np.asarray(moved.handle).tobytes() == np.ascontiguousarray(expected).tobytes()


def test_split_undoes_join(block: Block) -> None:
    low, high = shape.split(shape.join(block(CUBE), block(CUBE + 100)))
    np.testing.assert_array_equal(low.handle, CUBE)
    np.testing.assert_array_equal(high.handle, CUBE + 100)


def test_two_scalars_join_and_split_to_scalars(block: Block) -> None:
    pair = shape.join(block(np.float32(1)), block(np.float32(2)))
    assert pair.shape == (2,)
    assert [x.type for x in shape.split(pair)] == [ty.float32, ty.float32]
    assert shape.interleave(block(np.float32(1)), block(np.float32(2))).shape == (2,)


def test_a_scalar_becomes_a_block_and_the_other_way_round(block: Block) -> None:
    one = shape.expand_dims(block(np.int32(7)), 0)
    assert one.shape == (1,)
    assert shape.item(shape.reshape(one, 1, 1)).type is ty.int32
    assert shape.reshape(one, ()).handle == 7


def test_broadcast_stretches_both(block: Block) -> None:
    a, b = shape.broadcast(block(np.ones((4, 1), np.int32)), block(np.ones((1, 8), np.int32)))
    assert a.shape == b.shape == (4, 8)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_picks_along_an_axis(block: Block, axis: int) -> None:
    source = np.arange(32, dtype=np.float32).reshape(4, 8)
    index = np.random.default_rng(0).integers(0, 4, (4, 8)).astype(np.int32)
    found = shape.gather(block(source), block(index), axis)
    np.testing.assert_array_equal(found.handle, np.take_along_axis(source, index, axis))


def test_gather_may_give_another_length(block: Block) -> None:
    found = shape.gather(block(np.arange(8.0)), block(np.array([7, 0], np.int64)), constexpr(0))
    np.testing.assert_array_equal(found.handle, [7.0, 0.0])


@pytest.mark.parametrize("dtype", [ty.int32, ty.uint8, ty.int64])
def test_histogram_counts_values(block: Block, dtype: ty.dtype) -> None:
    values = np.array([0, 1, 1, 3, 3, 3, 0, 2])
    counts = shape.histogram(block(values, dtype), 4)
    assert counts.type is ty.block_type(ty.int32, [4])
    np.testing.assert_array_equal(counts.handle, [2, 2, 1, 3])


def test_histogram_leaves_out_what_the_mask_does(block: Block) -> None:
    values = np.array([0, 1, 1, 3, 3, 3, 0, 9], np.int32)
    counts = shape.histogram(block(values), 4, block(values != 3))
    np.testing.assert_array_equal(counts.handle, [2, 2, 0, 0])


def test_swizzle_walks_bands_by_columns(block: Block) -> None:
    i, j = np.divmod(np.arange(32, dtype=np.int32), 8)
    new_i, new_j = standard.swizzle2d(block(i), block(j), 4, 8, 2)
    order = np.empty((4, 8), int)
    order[new_i.handle, new_j.handle] = np.arange(32)
    np.testing.assert_array_equal(order[:2], np.arange(16).reshape(8, 2).T)


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: shape.expand_dims(x, -5), ValueError, "invalid axis -5"),
    (lambda x: shape.expand_dims(x, 4), ValueError, "invalid axis 4"),
    (lambda x: shape.expand_dims(x, (0, 0)), ValueError, r"normalized axes = \[0, 0\]"),
    (lambda x: shape.reshape(x, 32), ValueError, "reshape"),
    (lambda x: shape.reshape(x, 3, 8), ValueError, "power of 2"),
    (lambda x: shape.reshape(x, x), TypeError, "constexpr"),
    (lambda x: shape.item(x), ValueError, "reshape"),
    (lambda x: shape.permute(x, 0, 1), ValueError, "same length"),
    (lambda x: shape.permute(x, 0, 1, 1), ValueError, "permutation"),
    (lambda x: shape.trans(shape.ravel(x)), ValueError, "1-dimensional"),
    (lambda x: shape.split(x), ValueError, "length 2"),
    (lambda x: shape.squeeze(x, 0), ValueError, "not of length 1"),
    (lambda x: shape.cat(x, x, can_reorder=True), ValueError, "1-D"),
    (lambda x: shape.cat(x, shape.ravel(x)), ValueError, "one shape"),
    (lambda x: shape.join(x, x.to(ty.int8)), TypeError, "one type"),
    (lambda x: shape.gather(x, x.to(ty.float32), 0), TypeError, "integer index"),
    (lambda x: shape.gather(x, shape.trans(x), 0), ValueError, "only axis 0"),
    (lambda x: shape.histogram(x, 8), ValueError, "1D"),
    (lambda x: shape.broadcast_to(x, 4, 2, 16), ValueError, "non-singleton dimension 2"),
]


@pytest.mark.parametrize("wrong, error, words", ERRORS)
def test_wrong_arguments_are_named(
    block: Block, wrong: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        wrong(block(CUBE))

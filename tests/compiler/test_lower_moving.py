"""Operations that move elements between lanes: run in NumPy, lane by lane, and assembled."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from blockstep.compiler.assemble import assemble
from blockstep.compiler.emit import emit
from blockstep.compiler.lower import Options
from tests.compiler import moving_kernels as kernels
from tests.compiler.run_lowered import TARGETS, check, compiled, integers

WARPS = (1, 2, 4, 8)


SCANNED = [
    ((16,), 0), ((32,), 0), ((64,), 0), ((1024,), 0), ((4096,), 0),
    ((64, 128), 1), ((64, 128), 0), ((2, 2048), 1), ((2048, 2), 0), ((4, 8, 16), 1), ((8, 2, 4), 0),
    ((1, 64), 0), ((512, 1), 0),
]  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), SCANNED)
def test_running_sums(shape: tuple[int, ...], axis: int, reverse: bool, warps: int) -> None:
    x = integers(shape)
    flipped = np.flip(x, axis) if reverse else x
    expected = np.cumsum(flipped, axis, dtype=np.int32)
    expected = np.flip(expected, axis) if reverse else expected
    wide = prod(shape) >= 1024 and warps in (1, 8)
    check(kernels.scan, [x], [expected], shape, prod(shape), axis, reverse, warps=warps,
          assembled=wide)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((512,), 0), ((16, 32), 1), ((32, 16), 0)])
def test_a_scan_of_two_that_does_not_commute(
    shape: tuple[int, ...], axis: int, reverse: bool, warps: int
) -> None:
    """x_i = a_i * x_{i-1} + b_i: what comes before stands on the left."""
    a, b = integers(shape, low=-3, high=3), integers(shape)
    p, q = a.copy(), b.copy()
    places = range(shape[axis] - 2, -1, -1) if reverse else range(1, shape[axis])
    for i in places:
        here, there = [slice(None)] * len(shape), [slice(None)] * len(shape)
        here[axis], there[axis] = i, i + 1 if reverse else i - 1  # type: ignore[call-overload]
        q[tuple(here)] = q[tuple(there)] * a[tuple(here)] + b[tuple(here)]
        p[tuple(here)] = p[tuple(there)] * a[tuple(here)]
    check(kernels.scan_pair, [a, b], [p, q], shape, prod(shape), axis, reverse, warps=warps,
          assembled=warps == 4)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_scans_of_every_width(dtype: Any) -> None:
    x = integers((1024,), dtype, 0, 3)
    expected = np.cumsum(x, dtype=dtype)
    check(kernels.scan, [x], [expected], (1024,), 1024, 0, False, warps=4)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("shape", "axis"), [((64, 32), 1), ((64, 32), 0), ((4, 8, 32), 1)])
def test_reductions(shape: tuple[int, ...], axis: int, warps: int) -> None:
    x = integers(shape)
    check(kernels.reduce, [x], [x.max(axis)], shape, prod(shape), axis, warps=warps,
          assembled=warps == 4)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("shape", "turned"), [((32, 64), (128, 16)), ((8, 128), (32, 32))])
def test_reductions_along_what_was_reshaped(
    shape: tuple[int, ...], turned: tuple[int, ...], warps: int
) -> None:
    x = integers(shape)
    expected = x.T.reshape(turned).max(1)
    check(kernels.reduce_turned, [x], [expected], shape, prod(shape), turned, warps=warps)


GATHERED = [
    ((128,), (32,), 0),
    ((16, 64), (16, 8), 1),
    ((16, 64), (128, 64), 0),
    ((4, 8, 16), (4, 2, 16), 1),
]


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("shape", "wanted", "axis"), GATHERED)
@pytest.mark.parametrize(
    ("dtype", "index"), [(np.int32, np.int32), (np.int8, np.int64), (np.float16, np.uint8)]
)
def test_gather(
    shape: tuple[int, ...], wanted: tuple[int, ...], axis: int, dtype: Any, index: Any, warps: int
) -> None:
    x, k = integers(shape, dtype), integers(wanted, index, 0, shape[axis])
    expected = np.take_along_axis(x, k.astype(np.int64), axis)
    check(kernels.gather, [x, k], [expected], shape, prod(shape), wanted, prod(wanted), axis,
          warps=warps, assembled=warps == 2)  # fmt: skip


def test_gather_outside_of_the_axis_reads_the_nearest() -> None:
    x, k = integers((64,)), integers((256,), np.int32, -500, 500)
    expected = x[np.clip(k, 0, 63)]
    check(kernels.gather, [x, k], [expected], (64,), 64, (256,), 256, 0, warps=4)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("size", "bins"), [(16, 2), (64, 256), (1024, 32), (512, 512)])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int8, np.int64])
def test_histogram(size: int, bins: int, dtype: Any, warps: int) -> None:
    x = integers((size,), dtype, 0 if dtype is np.uint8 else -5, min(bins + 9, 127))
    counted = x[(x >= 0) & (x < bins)].astype(np.int64)
    expected = np.bincount(counted, minlength=bins).astype(np.int32)
    check(kernels.histogram, [x], [expected], size, bins, warps=warps, assembled=warps == 4)
    expected[3:4] = 0
    check(kernels.histogram_masked, [x], [expected], size, bins, warps=warps, assembled=False)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((16,), 0), ((1024,), 0), ((64, 32), 0), ((64, 32), 1), ((4, 8, 16), 1)]
)
@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.float16, np.int64])
def test_flip(shape: tuple[int, ...], axis: int, dtype: Any, warps: int) -> None:
    x = integers(shape, dtype)
    check(kernels.flip, [x], [np.flip(x, axis)], shape, prod(shape), axis, warps=warps,
          assembled=warps == 4)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((8,), 0), ((1024,), 0), ((16, 32), 0), ((16, 32), 1), ((4, 2, 16), 1)]
)
def test_cat_and_interleave(shape: tuple[int, ...], axis: int, warps: int) -> None:
    x, z = integers(shape), integers(shape)
    check(kernels.cat, [x, z], [np.concatenate([x, z], axis)], shape, prod(shape), axis,
          warps=warps, assembled=warps == 4)  # fmt: skip
    expected = np.stack([x, z], -1).reshape(*shape[:-1], -1)
    check(kernels.interleave, [x, z], [expected], shape, prod(shape), warps=warps, assembled=False)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("shape", [(8, 2), (512, 2), (16, 32, 2)])
def test_split(shape: tuple[int, ...], warps: int) -> None:
    x = integers(shape)
    halves = [x[..., 0].copy(), x[..., 1].copy()]
    check(kernels.split, [x], halves, shape, prod(shape), warps=warps, assembled=warps == 4)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("length", [4, 64, 1024])
def test_split_where_no_lane_holds_pairs(length: int, warps: int) -> None:
    x = integers((2, length))
    check(kernels.split_turned, [x], [x[0].copy(), x[1].copy()], (2, length), 2 * length,
          warps=warps, assembled=warps == 4)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
def test_scalars_and_blocks(warps: int) -> None:
    pair = integers((2,))
    check(kernels.split_scalars, [pair], [pair[::-1].copy()], warps=warps)
    check(kernels.join_scalars, [pair], [pair], warps=warps)
    check(kernels.item, [pair[:1].copy()], [pair[:1].copy()], warps=warps)


@pytest.mark.parametrize("warps", WARPS)
def test_permute(warps: int) -> None:
    x = integers((4, 16, 32))
    check(kernels.permute, [x], [np.ascontiguousarray(x.transpose(2, 0, 1))], x.shape, x.size,
          warps=warps)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("size", [2, 64, 2048])
@pytest.mark.parametrize("dtype", [np.int32, np.int16])
def test_a_function_of_neighbours(size: int, dtype: Any, warps: int) -> None:
    x, z = integers((size,), dtype), integers((size,), dtype)
    expected = np.stack([x[1::2] + z[::2], x[::2] - z[1::2]], -1).reshape(-1)
    check(kernels.packed, [x, z], [expected], size, warps=warps, assembled=warps == 4)


@pytest.mark.parametrize("warps", WARPS)
def test_scalars_taken_out_and_laid_out(warps: int) -> None:
    x = integers((64,))
    check(kernels.one_by_one, [x], [x + 1], 64, warps=warps)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("shape", "down"), [((64,), False), ((1024,), True), ((16, 32), False)])
def test_sort(shape: tuple[int, ...], down: bool, warps: int) -> None:
    x = integers(shape)
    expected = np.sort(x, -1)
    expected = expected[..., ::-1].copy() if down else expected
    check(kernels.sort, [x], [expected], shape, prod(shape), down, warps=warps,
          assembled=warps == 4)  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("shape", "k"), [((64,), 8), ((16, 32), 4)])
def test_topk(shape: tuple[int, ...], k: int, warps: int) -> None:
    x = integers(shape)
    expected = np.sort(x, -1)[..., ::-1][..., :k].copy()
    check(kernels.topk, [x], [expected], shape, prod(shape), k, warps=warps, assembled=warps == 4)


def test_a_sort_leaves_the_warp_only_for_partners_in_other_warps() -> None:
    """1024 elements: of the 55 steps those that differ in bit 7 (three times) or 8 (twice)."""
    x = integers((1024,))
    counts = check(kernels.sort, [x], [np.sort(x)], x.shape, x.size, False, warps=4)
    assert counts["barriers"] == 2 * 5
    assert counts["shared stores"] == counts["shared loads"] == 2 * 5


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("size", [4, 64, 1024])
def test_truth_values(size: int, warps: int) -> None:
    x, k = integers((size,)), integers((size,), low=0, high=size)
    truth = x > 0
    a, b = np.split(truth, 2)
    parts: list[Any] = [
        np.logical_xor.accumulate(truth),
        truth[k],
        np.concatenate([b, a]),
        np.stack([a, b[::-1]], -1).reshape(-1),
        [truth.any()],
    ]
    expected = np.concatenate(parts).astype(np.int32)
    check(kernels.truths, [x, k], [expected], size, size // 2, warps=warps, assembled=warps == 4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_what_a_product_leaves_is_moved(target: str, warps: int) -> None:
    arrays = [np.zeros((64, 64), np.float16)] * 2 + [np.zeros((64, 64), np.float32)]
    options = Options(target=target, num_warps=warps)
    text = compiled(kernels.after_a_product, arrays, (64,), options).text
    assert assemble(emit(text, target), target).registers > 0


@pytest.mark.parametrize("warps", WARPS)
def test_bfloat16_and_pointers(warps: int) -> None:
    x = integers((512,)).astype(ml_dtypes.bfloat16)
    check(kernels.flip, [x], [x[::-1].copy()], (512,), 512, 0, warps=warps)
    y = integers((128,))
    check(kernels.pointers, [y], [np.flip(y)], 128, warps=warps)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("rounds", [1, 3])
def test_moving_in_a_loop(warps: int, rounds: int) -> None:
    c = x = integers((16, 16))
    total = np.zeros(16, np.int32)
    for _ in range(rounds):
        c = np.bitwise_xor.accumulate(c.T, 1) + np.flip(c, 0)
        largest = c.max(0)
        total += largest[np.sort(largest) & 15]
        total += np.bincount(c.reshape(-1) & 31, minlength=32)[:16].astype(np.int32)
    many = np.array([rounds], np.int32)
    check(kernels.repeated, [x, many], [c, total], 16, warps=warps, assembled=rounds == 1)

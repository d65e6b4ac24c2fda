"""Matrix products: result types, the rules of the operands, values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockstep.language import types as ty
from blockstep.language.linalg import dot, dot_scaled
from blockstep.language.value import tensor

Block = Callable[..., tensor]
RNG = np.random.default_rng(11)


def whole(*shape: int) -> Any:
    """Small integers: their products and sums are exact in every format."""
    return RNG.integers(-3, 4, shape)


RESULTS = [
    (ty.int8, ty.float32, ty.int32),
    (ty.float16, ty.float32, ty.float32),
    (ty.float16, ty.float16, ty.float16),
    (ty.bfloat16, ty.float32, ty.float32),
    (ty.bfloat16, ty.float16, ty.float32),
    (ty.float32, ty.float32, ty.float32),
    (ty.float64, ty.float32, ty.float64),
    (ty.float8e5, ty.float32, ty.float32),
    (ty.float8e4nv, ty.float16, ty.float16),
    (ty.float8e4b15, ty.float32, ty.float32),
]


@pytest.mark.parametrize("kind, out, result", RESULTS)
@pytest.mark.parametrize("batch", [(), (2,), (2, 2)])
def test_products_are_exact_on_whole_numbers(
    block: Block, kind: ty.dtype, out: ty.dtype, result: ty.dtype, batch: tuple[int, ...]
) -> None:
    a, b = whole(*batch, 16, 32), whole(*batch, 32, 8)
    if kind is ty.float8e4b15:
        a, b = np.sign(a), np.sign(b)
    x, y = (_of(block, v, kind) for v in (a, b))
    found = dot(x, y, out_dtype=out)
    assert found.type is ty.block_type(result, (*batch, 16, 8))
    np.testing.assert_array_equal(found.handle.astype(np.float64), a @ b)


def _of(block: Block, values: Any, kind: ty.dtype) -> Any:
    if kind is ty.float8e4b15:  # held as codes: 1.0 is 0x78
        return block(np.where(values == 0, 0, np.where(values < 0, 0xF8, 0x78)), kind)
    return block(values, kind)


def test_two_kinds_of_8_bit_floats_mix(block: Block) -> None:
    a, b = whole(16, 32), whole(32, 16)
    found = dot(block(a, ty.float8e5), block(b, ty.float8e4nv))
    np.testing.assert_array_equal(found.handle, a @ b)


def test_the_accumulator_is_added(block: Block) -> None:
    a, b, c = whole(16, 16), whole(16, 16), whole(16, 16)
    found = dot(block(a, ty.float16), block(b, ty.float16), block(c, ty.float32))
    np.testing.assert_array_equal(found.handle, a @ b + c)
    x = block(np.full((16, 32), 2), ty.int8)
    more = dot(x, block(np.full((32, 16), 3), ty.int8), block(c, ty.int32), out_dtype=ty.int32)
    np.testing.assert_array_equal(more.handle, 192 + c)


def test_float32_operands_lose_their_low_13_bits_by_default(block: Block) -> None:
    a = np.full((16, 16), 1 + 2**-12, np.float32)
    b = np.eye(16, dtype=np.float32)
    assert np.all(dot(block(a), block(b)).handle == 1)
    for exact in ({"allow_tf32": False}, {"input_precision": "ieee"}, {"input_precision": "IEEE"}):
        assert np.all(dot(block(a), block(b), **exact).handle == a)
    for split in ("tf32x3", "bf16x3", "bf16x6"):
        close = dot(block(a), block(b), input_precision=split).handle
        np.testing.assert_allclose(close, a, rtol=2**-16)


def test_the_environment_sets_the_default(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_F32_DEFAULT", "ieee")
    a = np.full((16, 16), 1 + 2**-12, np.float32)
    assert np.all(dot(block(a), block(np.eye(16, dtype=np.float32))).handle == a)


def half(block: Block, *shape: int) -> tensor:
    return block(np.ones(shape), ty.float16)


ERRORS: list[tuple[Callable[[Block], Any], type[Exception], str]] = [
    (lambda b: dot(half(b, 8, 8), half(b, 8, 8)), ValueError, "M >= 1, N >= 1 and K >= 16"),
    (
        lambda b: dot(b(np.ones((8, 16)), ty.int8), b(np.ones((16, 8)), ty.int8)),
        ValueError,
        "M >= 1, N >= 1 and K >= 32",
    ),
    (lambda b: dot(half(b, 16, 16), half(b, 32, 16)), ValueError, "reduction dimensions"),
    (lambda b: dot(half(b, 2, 16, 16), half(b, 4, 16, 16)), ValueError, "batch shapes"),
    (lambda b: dot(half(b, 2, 16, 16), half(b, 16, 16)), ValueError, "equal ranks"),
    (
        lambda b: dot(half(b, 16, 16), b(np.ones((16, 16)), ty.bfloat16)),
        TypeError,
        "Both operands must be same dtype. Got fp16 and bf16",
    ),
    (
        lambda b: dot(b(np.ones((16, 32)), ty.uint8), b(np.ones((32, 16)), ty.uint8)),
        TypeError,
        "only int8 supported",
    ),
    (
        lambda b: dot(b(np.ones((16, 32)), ty.int32), b(np.ones((32, 16)), ty.int32)),
        TypeError,
        "Unsupported lhs dtype int32",
    ),
    (
        lambda b: dot(half(b, 16, 16), half(b, 16, 16), out_dtype=ty.bfloat16),
        ValueError,
        "out_dtype=bfloat16 is unsupported",
    ),
    (
        lambda b: dot(half(b, 16, 16), half(b, 16, 16), half(b, 16, 16)),
        TypeError,
        "must have one type; they are fp16, fp32 and fp32",
    ),
    (
        lambda b: dot(half(b, 16, 16), half(b, 16, 16), b(np.ones((16, 8), np.float32))),
        ValueError,
        "accumulator shape",
    ),
    (
        lambda b: dot(half(b, 16, 16), half(b, 16, 16), input_precision="fast"),
        ValueError,
        "input_precision must be one of",
    ),
    (
        lambda b: dot(half(b, 16, 16), half(b, 16, 16), input_precision="ieee", allow_tf32=True),
        ValueError,
        "Only one of",
    ),
    (
        lambda b: dot(
            b(np.ones((64, 64)), ty.float8e5),
            b(np.ones((64, 64)), ty.float8e5),
            max_num_imprecise_acc=128,
        ),
        ValueError,
        r"^max_num_imprecise_acc \(128\) must be <= K \(64\)$",
    ),
]


@pytest.mark.parametrize("wrong, error, words", ERRORS)
def test_wrong_operands_are_named(
    block: Block, wrong: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        wrong(block)


def test_packed_operands_hold_two_values_a_byte(block: Block) -> None:
    a = block(np.full((16, 32), 0x42), ty.uint8)  # 1, 2, 1, 2, …
    b = block(np.ones((64, 8)), ty.bfloat16)
    found = dot_scaled(a, None, "e2m1", b, None, "bf16")
    assert found.type is ty.block_type(ty.float32, (16, 8))
    np.testing.assert_array_equal(found.handle, 32 * (1 + 2))


def test_scales_multiply_groups_of_32(block: Block) -> None:
    a = block(np.ones((16, 64)), ty.float8e5)
    b = block(np.ones((64, 8)), ty.float8e4nv)
    scale = block(np.tile([127, 129], (16, 1)), ty.uint8)  # 1 and 4
    found = dot_scaled(a, scale, "e5m2", b, None, "e4m3", block(np.ones((16, 8)), ty.float32))
    np.testing.assert_array_equal(found.handle, 32 * 1 + 32 * 4 + 1)


def test_the_right_scale_is_not_transposed(block: Block) -> None:
    a = block(np.ones((16, 32)), ty.float16)
    b = block(np.ones((32, 8)), ty.float16)
    scale = block(127 + np.arange(8).reshape(8, 1), ty.uint8)
    found = dot_scaled(a, None, "fp16", b, scale, "fp16")
    np.testing.assert_array_equal(found.handle[0], 32 * 2.0 ** np.arange(8))


def test_bits_may_be_held_in_unsigned_integers(block: Block) -> None:
    a = block(np.full((16, 64), 0x3C), ty.uint8)  # e5m2: 1.0
    b = block(np.full((64, 8), 0x3F80), ty.uint16)  # bf16: 1.0
    np.testing.assert_array_equal(dot_scaled(a, None, "e5m2", b, None, "bf16").handle, 64)


def test_rows_may_be_packed_instead_of_k(block: Block) -> None:
    a = block(np.full((8, 32), 0x42), ty.uint8)
    found = dot_scaled(
        a, None, "e2m1", block(np.ones((32, 8)), ty.bfloat16), None, "bf16", lhs_k_pack=False
    )
    np.testing.assert_array_equal(found.handle[:, 0], np.tile([32, 64], 8))


def test_wrong_scaled_operands_are_named(block: Block) -> None:
    a, b = block(np.zeros((32, 64)), ty.uint8), block(np.zeros((64, 32)), ty.uint8)
    wrong, right = block(np.zeros((32, 4)), ty.uint8), block(np.zeros((32, 2)), ty.uint8)
    words = r"^lhs_scale must be a tensor of shape \[32, 2\]. Got \['32', '4'\]$"
    with pytest.raises(ValueError, match=words):
        dot_scaled(a, wrong, "e5m2", b, right, "e5m2")
    with pytest.raises(ValueError, match="Invalid float format: e3m4"):
        dot_scaled(a, right, "e3m4", b, right, "e5m2")
    with pytest.raises(TypeError, match="Unexpected dtype for bf16"):
        dot_scaled(a, right, "bf16", b, right, "e5m2")
    with pytest.raises(ValueError, match="pack the same number"):
        dot_scaled(a, None, "e2m1", b, None, "e5m2")

"""What elementwise arithmetic does at the edges: wrapping, signs, zeros, NaNs, shift counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.ops.kernels import BF16, FP8E4, FP8E5, apply, result_type, same

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, BF16, np.float32, np.float64)


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def sub(x, y):
    return x - y


@triton.jit
def mul(x, y):
    return x * y


@triton.jit
def floordiv(x, y):
    return x // y


@triton.jit
def mod(x, y):
    return x % y


@triton.jit
def div(x, y):
    return x / y


@triton.jit
def shl(x, y):
    return x << y


@triton.jit
def floor(x):
    return tl.floor(x)


@triton.jit
def ceil(x):
    return tl.ceil(x)


@triton.jit
def neg(x):
    return -x


def edges(kind: Any) -> list[int]:
    """The least, the greatest, and what is near zero."""
    info = np.iinfo(kind)
    return sorted({info.min, info.min + 1, max(info.min, -7), 0, 1, 7, info.max - 1, info.max})


def both(kind: Any, without_zero: bool = False) -> tuple[Any, Any]:
    """Every pair of edges, as two blocks of 64 or less, padded with ones."""
    pairs = [(a, b) for a in edges(kind) for b in edges(kind) if b or not without_zero]
    pairs += [(1, 1)] * (64 - len(pairs))
    x, y = zip(*pairs, strict=True)
    return np.array(x, kind), np.array(y, kind)


def wrapped(values: list[int], kind: Any) -> Any:
    info = np.iinfo(kind)
    return np.array([(v - info.min) % 2**info.bits + info.min for v in values], kind)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_wrap(kind: Any) -> None:
    x, y = both(kind)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    same(apply(add, x, y), wrapped([a + b for a, b in pairs], kind))
    same(apply(sub, x, y), wrapped([a - b for a, b in pairs], kind))
    same(apply(mul, x, y), wrapped([a * b for a, b in pairs], kind))


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_division_truncates_and_the_remainder_follows_the_dividend(kind: Any) -> None:
    x, y = both(kind, without_zero=True)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    same(apply(floordiv, x, y), wrapped(quotients, kind))
    rest = [a - b * q for (a, b), q in zip(pairs, quotients, strict=True)]
    same(apply(mod, x, y), wrapped(rest, kind))


def test_booleans_add_modulo_two() -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    same(apply(add, x, y), x != y)
    same(apply(sub, x, y), x != y)
    same(apply(mul, x, y), x & y)


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_rounded_once(kind: Any) -> None:
    """bf16 1 + 1 is 2; the sum and the product of halves are rounded to nearest even."""
    x = np.array([1, 1.5, 255, 0.1, -3, 1e-3, 7, 2], kind)
    y = np.array([1, 0.3, 1.25, 0.2, 3, 5, 1e-2, 2], kind)
    wide: Any = np.float64 if np.dtype(kind).itemsize < 8 else np.longdouble
    a, b = x.astype(wide), y.astype(wide)
    same(apply(add, x, y), (a + b).astype(kind))
    same(apply(mul, x, y), (a * b).astype(kind))


def test_minus_is_zero_minus_x() -> None:
    """As Triton 3.6 compiles it: -(+0.0) is +0.0."""
    x = np.array([0.0, -0.0, 1.0, math.inf], np.float32)
    same(apply(neg, x), np.array([0.0, 0.0, -1.0, -math.inf], np.float32))
    same(apply(neg, np.array([1, 0], np.uint8)), np.array([255, 0], np.uint8))


def test_float_remainder_has_the_sign_of_the_dividend() -> None:
    x = np.array([5.5, -5.5, 5.5, 7], np.float32)
    y = np.array([2, 2, -2, math.inf], np.float32)
    same(apply(mod, x, y), np.array([1.5, -1.5, 1.5, 7], np.float32))


def test_float_remainder_is_x_minus_a_rounded_multiple() -> None:
    """What PTX makes of it, and an H200: no -0.0, nothing left of a quotient with 25 bits or more."""
    x = np.array([-0.0, -8, 1, 1e9], np.float32)
    y = np.array([3, 2, 2.0**-149, 0.3], np.float32)
    quotient = np.float64(np.float32(x[3] / y[3]))
    far = np.float32(np.float64(x[3]) - quotient * np.float64(y[3]))
    same(apply(mod, x, y), np.array([0.0, 0.0, -math.inf, far], np.float32))
    double = apply(mod, np.array([-0.0, 1e20]), np.array([3.0, 3.0]))
    same(double, np.array([0.0, 10**20 - 3 * int(1e20 / 3)], np.float64))
    half = apply(mod, np.array([1.0, 448], FP8E4), np.array([2.0**-16, 3], FP8E5))
    same(half, np.array([0, 1], np.float16))


@triton.jit
def least(x):
    return tl.min(x, 0)


@triton.jit
def lesser(x, y):
    return tl.minimum(x, y)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_signalling_nan_does_not_hide_a_minimum(kind: Any) -> None:
    """Blocks of two are too short for a vector unit, where NumPy's fmin is another function."""
    bits = {np.float32: ("u4", 0x7F800001), np.float64: ("u8", 0x7FF0000000000001)}[kind]
    nan = np.array([bits[1]], bits[0]).view(kind)
    same(apply(least, np.concatenate([np.array([-5], kind), nan])), np.array(-5, kind))
    same(apply(lesser, np.array([1, 2], kind), np.repeat(nan, 2)), np.array([1, 2], kind))


def test_floor_and_ceil_take_subnormal_numbers_for_zeros() -> None:
    x = np.array([1e-45, -1e-45, 1e-38, 2.0**-126], np.float32)
    same(apply(floor, x), np.array([0.0, -0.0, 0.0, 0.0], np.float32))
    same(apply(ceil, x), np.array([0.0, -0.0, 0.0, 1.0], np.float32))
    same(apply(ceil, np.array([5e-324, 1])), np.array([1.0, 1.0]))


def test_what_is_undefined_is_what_the_hardware_gives() -> None:
    """The remainder by zero is all ones; a 64-bit shift takes the low 32 bits of its count."""
    zero = np.zeros(2, np.int32)
    same(apply(mod, np.array([7, -7], np.int32), zero, judged=False), np.array([-1, -1], np.int32))
    counts = np.array([2**32 + 1, 64], np.int64)
    same(apply(shl, np.array([3, 3]), counts, judged=False), np.array([6, 0]))


def test_integers_are_divided_in_float32() -> None:
    x, y = np.array([1, 2**24 + 1], np.int64), np.array([3, 1], np.int64)
    same(apply(div, x, y), np.array([np.float32(1) / np.float32(3), 2**24], np.float32))


def test_float_division_by_zero_is_infinite_and_not_blamed() -> None:
    x, y = np.array([1, -1, 0, 1], np.float32), np.array([0, 0, 0, -0.0], np.float32)
    same(apply(div, x, y), np.array([math.inf, -math.inf, math.nan, -math.inf], np.float32))


# Shifts


@triton.jit
def shr(x, y):
    return x >> y


@pytest.mark.parametrize("kind", INTEGERS)
def test_shifts_within_the_width(kind: Any) -> None:
    bits = np.iinfo(kind).bits
    values, counts = edges(kind)[:8] + [1] * (8 - len(edges(kind))), [0, 1, bits // 2, bits - 1]
    x = np.repeat(np.array(values, kind), 4)
    y = np.tile(np.array(counts, kind), 8)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    same(apply(shl, x, y), wrapped([a << b for a, b in pairs], kind))
    same(apply(shr, x, y), wrapped([a >> b for a, b in pairs], kind))


@triton.jit
def shifted_past(x_ptr, count_ptr, left_ptr, right_ptr):
    i = tl.arange(0, 4)
    x, count = tl.load(x_ptr + i), tl.load(count_ptr + i)
    tl.store(left_ptr + i, x << count)
    tl.store(right_ptr + i, x >> count)


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_shift_past_the_width_is_clamped_as_the_instruction_does(kind: Any) -> None:
    bits = np.iinfo(kind).bits
    x = np.array([1, np.iinfo(kind).max, np.iinfo(kind).min, 5], kind)
    left, right = np.zeros(4, kind), np.zeros(4, kind)
    shifted_past[(1,)](x, np.array([bits, bits, bits + 1, 2 * bits], kind), left, right)
    same(left, np.zeros(4, kind))
    same(right, np.array([-1 if v < 0 else 0 for v in x.tolist()]).astype(kind))


def test_the_left_operands_own_type_decides_the_kind_of_shift() -> None:
    """int32 >> uint32 promotes to uint32, and still copies the sign."""
    x, y = np.array([-8, 8], np.int32), np.array([1, 1], np.uint32)
    same(apply(shr, x, y), np.array([2**32 - 4, 4], np.uint32))
    x, y = np.array([2**31, 8], np.uint32), np.array([1, 1], np.int32)
    same(apply(shr, x, y), np.array([2**30, 4], np.uint32))


# Least and greatest


@triton.jit
def minimum(x, y):
    return tl.minimum(x, y)


@triton.jit
def maximum(x, y):
    return tl.maximum(x, y)


@triton.jit
def minimum_all(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def maximum_all(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_number_beats_a_nan_and_zeros_are_ordered(kind: Any) -> None:
    x = np.array([math.nan, 1, -0.0, 0.0, math.nan, 3, math.inf, -1], kind)
    y = np.array([1, math.nan, 0.0, -0.0, math.nan, 2, math.nan, 1], kind)
    same(apply(minimum, x, y), np.array([1, 1, -0.0, -0.0, math.nan, 2, math.inf, -1], kind))
    same(apply(maximum, x, y), np.array([1, 1, 0.0, 0.0, math.nan, 3, math.inf, 1], kind))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_nan_wins_if_asked_to(kind: Any) -> None:
    x = np.array([math.nan, 1, 2, math.inf], kind)
    y = np.array([1, math.nan, 1, math.nan], kind)
    same(apply(minimum_all, x, y), np.array([math.nan, math.nan, 1, math.nan], kind))
    same(apply(maximum_all, x, y), np.array([math.nan, math.nan, 2, math.nan], kind))


def test_zeros_are_ordered_when_a_nan_wins_too() -> None:
    x, y = np.array([-0.0, 0.0], np.float32), np.array([0.0, -0.0], np.float32)
    same(apply(minimum_all, x, y), np.array([-0.0, -0.0], np.float32))
    same(apply(maximum_all, x, y), np.array([0.0, 0.0], np.float32))


@triton.jit
def clamped(x):
    return tl.clamp(x, -1.0, 1.0)


@triton.jit
def clamped_all(x):
    return tl.clamp(x, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL)


def test_clamp_drops_a_nan_unless_asked_not_to() -> None:
    x = np.array([math.nan, -5, 0.25, math.inf], np.float32)
    same(apply(clamped, x), np.array([-1, -1, 0.25, 1], np.float32))
    same(apply(clamped_all, x), np.array([math.nan, -1, 0.25, 1], np.float32))


def test_clamp_of_bfloat16_is_float32() -> None:
    same(apply(clamped, np.array([0.5, -9], BF16)), np.array([0.5, -1], np.float32))


# Logic


@triton.jit
def both_hold(x, y):
    return (x > 0) and (y > 0)


@triton.jit
def either_holds(x, y):
    return (x > 0) or (y > 0)


@triton.jit
def not_positive(x):
    return not (x > 0)


@triton.jit
def inverted(x):
    return ~x


def test_logic_of_blocks() -> None:
    x, y = np.array([1, 1, -1, -1], np.int32), np.array([1, -1, 1, -1], np.int32)
    same(apply(both_hold, x, y), np.array([True, False, False, False]))
    same(apply(either_holds, x, y), np.array([True, True, True, False]))
    same(apply(not_positive, x), np.array([False, False, True, True]))
    same(
        apply(inverted, np.array([0, 5, 255, 1], np.uint8)), np.array([255, 250, 0, 254], np.uint8)
    )
    same(apply(inverted, np.array([True, False])), np.array([False, True]))


@triton.jit
def more_than_300(x):
    return x > 300


@triton.jit
def more_than_minus_one(x):
    return x > -1


def test_a_literal_out_of_range_is_an_error_in_a_comparison_or_compares_as_triton_does() -> None:
    """Triton 3.6 makes a value of the literal first: 255 > 300 in int32."""
    same(apply(more_than_300, np.array([1, 127], np.int8)), np.array([False, False]))
    same(apply(more_than_minus_one, np.array([0, 7], np.uint32)), np.array([False, False]))


@triton.jit
def where_scalar_condition(x, y):
    return tl.where(tl.program_id(0) == 0, x, y)


def test_where_takes_a_scalar_condition() -> None:
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    same(apply(where_scalar_condition, x, y), x)


@triton.jit
def fused(x, y, z):
    return tl.fma(x, y, z)


def test_fma_rounds_once() -> None:
    x = np.array([1 + 2**-12, 3], np.float32)
    z = np.array([-1 - 2**-11, 1], np.float32)
    same(
        apply(fused, x, np.array([1 + 2**-12, 3], np.float32), z),
        np.array([2**-24, 10], np.float32),
    )


@triton.jit
def high(x, y):
    return tl.umulhi(x, y)


def test_the_high_half_of_a_product() -> None:
    x, y = np.array([2**63 + 5, 7], np.uint64), np.array([2**63 + 9, 2**62], np.uint64)
    expected = [int(a) * int(b) >> 64 for a, b in zip(x, y, strict=True)]
    same(apply(high, x, y), np.array(expected, np.uint64))
    with pytest.raises(triton.CompilationError, match="int16"):
        result_type(high, np.ones(2, np.int16), np.ones(2, np.int16))


# What does not compile


@triton.jit
def power(x):
    return x**2


@triton.jit
def fdiv_integers(x):
    return tl.fdiv(x, x)


@triton.jit
def shapes(x, y):
    return x + y


def test_power_is_refused_with_a_way_out() -> None:
    with pytest.raises(triton.CompilationError, match="multiply"):
        result_type(power, np.ones(2, np.float32))


def test_fdiv_wants_floats() -> None:
    with pytest.raises(triton.CompilationError, match="floating"):
        result_type(fdiv_integers, np.ones(2, np.int32))


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(triton.CompilationError, match=r"index 0: 4 and 8"):
        result_type(shapes, np.ones(4, np.int32), np.ones(8, np.int32))


@triton.jit
def above_a_tenth(x):
    return x > 0.1


def test_a_literal_compares_in_its_own_type() -> None:
    """The float16 next to 0.1 is less than 0.1 in float32, which is what is compared."""
    tenth = np.array([0.1, 0.1001], np.float16)
    same(apply(above_a_tenth, tenth), tenth.astype(np.float32) > np.float32(0.1))


@triton.jit
def greatest_of_negated(x, y, z):
    return tl.maximum(tl.maximum(-x, -y), -z)


@triton.jit
def least_of_negated(x, y, z):
    return tl.minimum(tl.minimum(-x, -y), -z)


@pytest.mark.parametrize("integer", [np.int16, np.int32, np.uint32, np.int64])
def test_extrema_of_three_negated_numbers(integer: Any) -> None:
    """On a device ptxas loses the sign of the second: `compiler.ptxas_faults`."""
    random, least = np.random.default_rng(3), np.iinfo(integer).min
    x, y, z = (np.append(random.integers(-99, 99, 63), least).astype(integer) for _ in range(3))
    with np.errstate(over="ignore"):
        a, b, c = -x, -y, -z
    same(apply(greatest_of_negated, x, y, z), np.maximum(np.maximum(a, b), c))
    same(apply(least_of_negated, x, y, z), np.minimum(np.minimum(a, b), c))

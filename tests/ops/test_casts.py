"""Conversions as sm_90 does them: nearest even, saturating fp8, saturating integers, wrapping."""

from __future__ import annotations

import math
import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.ops.kernels import BF16, FP8E4, FP8E5, Array, apply, clean, result_type, same

INF, NAN = math.inf, math.nan
TL = {
    np.dtype(n): t
    for n, t in (
        (np.bool_, tl.int1), (np.int8, tl.int8), (np.int16, tl.int16), (np.int32, tl.int32),
        (np.int64, tl.int64), (np.uint8, tl.uint8), (np.uint16, tl.uint16),
        (np.uint32, tl.uint32), (np.uint64, tl.uint64), (np.float16, tl.float16),
        (BF16, tl.bfloat16), (np.float32, tl.float32), (np.float64, tl.float64),
        (FP8E4, tl.float8e4nv), (FP8E5, tl.float8e5),
    )
}  # fmt: skip


@triton.jit
def converted(x_ptr, out_ptr, TO: tl.constexpr, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(TO, fp_downcast_rounding=HOW))


def to(values: Any, source: Any, target: Any, how: str | None = None) -> Array:
    """`values` of type `source` as `target`, by a kernel; casts are not judged here."""
    x = np.array(values, source)
    out = np.zeros(x.size, target)
    with triton.check(skip=["cast", "overflow"]) as report:
        converted[(1,)](x, out, TO=TL[np.dtype(target)], HOW=how, N=x.size)
    clean(report)
    return out


# Float to integer


def saturated(values: list[float], bits: int, signed: bool, nan: int = 0) -> list[int]:
    """Truncated and held between the limits (`cvt.rzi`)."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return [
        nan if v != v else low if v <= low else high if v >= high else math.trunc(v) for v in values
    ]


SOME = [0.0, -0.0, 1.5, -1.5, 1e6, -1e6, 3e9, -3e9, 1e19, 2e19, -1e19, INF, -INF, NAN, 0.99, 255.0]


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("target", [np.int32, np.int64, np.uint32, np.uint64])
def test_floats_saturate_as_wide_integers(source: Any, target: Any) -> None:
    info = np.iinfo(target)
    # PTX ISA, cvt: a NaN is 0 between 32-bit types, otherwise only the top bit is set.
    top = info.min or 1 << (info.bits - 1)
    nan = 0 if (source, info.bits) == (np.float32, 32) else top
    expected = saturated(np.array(SOME, source).tolist(), info.bits, info.min < 0, nan)
    same(to(SOME, source, target), np.array(expected, target))


@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int16, np.uint16])
def test_narrow_integers_are_the_low_bits_of_a_saturated_16_bit_one(target: Any) -> None:
    info = np.iinfo(target)
    wide = saturated(SOME, 16, info.min < 0)
    low = [(v - info.min) % (1 << info.bits) + info.min for v in wide]
    same(to(SOME, np.float32, target), np.array(low, target))


@pytest.mark.parametrize("source", [np.float16, BF16, np.float32, np.float64, np.int32, np.uint8])
def test_to_bool_is_not_equal_to_zero(source: Any) -> None:
    values = [0, 1, 2, 0.25 if np.dtype(source).kind != "i" else 3]
    values = [0, 1, 2, 4] if np.dtype(source).kind in "iu" else [0.0, -0.0, 0.25, NAN]
    same(to(values, source, np.bool_), np.array([v != 0 for v in values]))


def test_from_bool_is_zero_or_one() -> None:
    for target in (np.int8, np.int64, np.uint32, np.float16, np.float32):
        same(to([False, True], np.bool_, target), np.array([0, 1], target))


# Integers


def test_narrowing_keeps_the_low_bits() -> None:
    same(to([300, -1, 128, -129], np.int32, np.int8), np.array([44, -1, -128, 127], np.int8))
    same(to([300, -1, 128, 256], np.int32, np.uint8), np.array([44, 255, 128, 0], np.uint8))


def test_widening_follows_the_sources_sign() -> None:
    same(to([-1, 5], np.int8, np.uint32), np.array([2**32 - 1, 5], np.uint32))
    same(to([255, 5], np.uint8, np.int32), np.array([255, 5], np.int32))


def test_large_integers_round_to_nearest_even_as_floats() -> None:
    values = [2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**53 + 1]
    same(to(values, np.int64, np.float32), np.array(values, np.int64).astype(np.float32))
    same(
        to([2049, 2051, 65519, 65520], np.int32, np.float16),
        np.array([2048, 2052, 65504, INF], np.float16),
    )


# Float to float


def bf16(value: float) -> int:
    """The code of the nearest bfloat16, ties to even."""
    code: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return code >> 16 | 0x40 if value != value else (code + 0x7FFF + (code >> 16 & 1)) >> 16


def test_bfloat16_is_rounded_to_nearest_even() -> None:
    values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, -0.0, 1e-40, INF, 257], np.float32)
    found = to(values, np.float32, BF16).view(np.uint16)
    same(found, np.array([bf16(v) for v in values.tolist()], np.uint16))
    assert np.isnan(to([NAN, NAN], np.float32, BF16).astype(np.float32)).all()


def test_rtz_truncates() -> None:
    x = np.array([1 + 2**-8 * 0.99, -(1 + 2**-7 * 0.99), 1.0, 3.4e38], np.float32)
    kept = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    same(to(x, np.float32, BF16, "rtz"), kept.astype(BF16))
    same(to([1e9, 2049], np.float32, np.float16, "rtz"), np.array([65504, 2048], np.float16))


def test_float16_overflows_to_infinity_and_keeps_subnormals() -> None:
    x = [65519.0, 65520.0, 6e-8, 2e-8]
    same(to(x, np.float32, np.float16), np.array([65504, INF, 2**-24, 0], np.float16))
    same(
        to([1 + 2**-11 + 2**-40, 1.0], np.float64, np.float16),
        np.array([1 + 2**-10, 1], np.float16),
    )


@pytest.mark.parametrize(("target", "most"), [(FP8E4, 448.0), (FP8E5, 57344.0)])
@pytest.mark.parametrize("source", [np.float32, np.float16, BF16])
def test_fp8_saturates(target: Any, most: float, source: Any) -> None:
    x = [INF, -INF, most, -most, 0.0, -0.0, 1.0625, 1.1875]
    expected = np.array([most, -most, most, -most, 0.0, -0.0], np.float32).astype(target)
    found = to(x, source, target)
    same(found[:6], expected)
    same(found[6:], np.array([1.0625, 1.1875], np.float32).astype(target))
    assert np.isnan(to([NAN, NAN], source, target).astype(np.float32)).all()


def test_fp8_between_the_largest_and_the_next_saturates_too() -> None:
    same(
        to([449, 464, 480, 1e30], np.float32, FP8E4), np.array([448] * 4, np.float32).astype(FP8E4)
    )
    assert to([126.24, 1.0], np.float32, FP8E4)[0] == 128


@pytest.mark.parametrize("kind", [FP8E4, FP8E5])
@pytest.mark.parametrize("target", [np.float16, BF16, np.float32])
def test_every_fp8_code_is_exact_in_wider_floats(kind: Any, target: Any) -> None:
    codes = np.arange(256, dtype=np.uint8).view(kind)
    if (kind, target) == (FP8E5, BF16):
        codes = codes[np.isfinite(codes.astype(np.float32))][:128]  # a power of two of them
    same(to(codes, kind, target), codes.astype(np.float32).astype(target))


def test_float8e5_to_bfloat16_reads_infinity_as_a_number() -> None:
    codes = np.array([0x7C, 0x7D, 0x7E, 0x7F, 0xFC, 0xFF, 0x7B, 0x01], np.uint8).view(FP8E5)
    found = to(codes, FP8E5, BF16)
    same(found, np.array([65536, 81920, 98304, 114688, -65536, -114688, 57344, 2.0**-16], BF16))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int32, np.uint64])
def test_float8_does_not_convert_to_integers(kind: Any) -> None:
    with pytest.raises(triton.CompilationError, match="fp8 only converts to and from floats"):
        to([1.0, 2.0], FP8E4, kind)


def test_between_the_16_bit_floats() -> None:
    same(to([1.0, 65504, 2**-24, INF], np.float16, BF16), np.array([1, 65536, 2**-24, INF], BF16))
    same(to([1.0, 1e38, 2**-30, -2], BF16, np.float16), np.array([1, INF, 0, -2], np.float16))


# Bits


@triton.jit
def bits_of(x):
    return x.to(tl.uint32, bitcast=True)


@triton.jit
def int8_to_float8(x):
    return x.to(tl.float8e4nv, bitcast=True)


@triton.jit
def wrong_width(x):
    return x.to(tl.int16, bitcast=True)


@triton.jit
def rounding_without_narrowing(x):
    return x.to(tl.float64, fp_downcast_rounding="rtne")


@triton.jit
def unknown_rounding(x):
    return x.to(tl.float16, fp_downcast_rounding="up")


@triton.jit
def pointer_to_float(x):
    return tl.cast(tl.zeros([4], tl.int64).to(tl.pointer_type(tl.int8)), tl.float32)


@triton.jit
def of_literal(x):
    return tl.cast(5, tl.int8) + x


def test_bits_are_kept() -> None:
    x = np.array([1.0, -0.0, INF, 1e-45], np.float32)
    same(apply(bits_of, x), np.frombuffer(x.tobytes(), np.uint32))
    codes = np.array([0, 0x38, 0x7E, 0x80], np.uint8)
    same(apply(int8_to_float8, codes), codes.view(ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (wrong_width, "size 32"),
        (rounding_without_narrowing, "fp_downcast_rounding"),
        (unknown_rounding, "up"),
        (pointer_to_float, "cast"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_cast(fn: Any, text: str) -> None:
    with pytest.raises(triton.CompilationError, match=text):
        result_type(fn, np.ones(4, np.float32))


def test_a_number_can_be_cast() -> None:
    same(apply(of_literal, np.array([1, 2], np.int8)), np.array([6, 7], np.int8))


@triton.jit
def stored(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i))


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_a_number_stored_as_a_truth_value_is_its_low_byte(kind: Any) -> None:
    """As Triton 3.6 has it: 256 and 0.5 are False."""
    x, out = np.array([0, 1, 256, 2], kind), np.zeros(4, np.bool_)
    if kind is np.float32:
        x[2] = 0.5
    with triton.check(skip=["cast", "overflow"]):
        stored[(1,)](x, out, N=4)
    assert out.view(np.uint8).tolist() == [0, 1, 0, 2]

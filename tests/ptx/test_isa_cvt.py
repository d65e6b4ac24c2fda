"""Conversions of PTX: every pair of types, against integers, rationals and ml_dtypes."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.ptx.isa import Unsupported, form
from blockstep.interp.ptx.isa.registry import WIDTH, fit
from tests.ptx.instructions import (
    FLOAT,
    column,
    edges,
    exact,
    is_inf,
    is_nan,
    rounded,
    run,
    seen,
    written,
)

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF}


def limits(type: str) -> tuple[int, int]:
    width = WIDTH[type]
    return (-(1 << width - 1), (1 << width - 1) - 1) if type[0] == "s" else (0, (1 << width) - 1)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("to", INTEGERS)
def test_integers_are_cut_or_clipped(to: str, source: str) -> None:
    a = edges(WIDTH[source])
    numbers = [seen(x, source) for x in a]
    mask = (1 << WIDTH[to]) - 1
    assert run(f"cvt.{to}.{source}", a) == [n & mask for n in numbers]
    low, high = limits(to)
    clipped = [min(max(n, low), high) & mask for n in numbers]
    assert run(f"cvt.sat.{to}.{source}", a) == clipped


@pytest.mark.parametrize("direction", ("rn", "rz", "rm", "rp"))
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_become_floats_rounded_once(source: str, to: str, direction: str) -> None:
    a = edges(WIDTH[source], 60)
    if WIDTH[source] == 64:  # halfway in f32 and f64, and one beside
        a += [(1 << 63) + (1 << k) + d & 2**64 - 1 for k in (9, 10, 38, 39) for d in (-1, 0, 1)]
    want = [rounded(Fraction(n), to, direction) if (n := seen(x, source)) else 0 for x in a]
    assert run(f"cvt.{direction}.{to}.{source}", a) == want


def floats(type: str) -> Any:
    """All of 16 bits; of the others the ends, halves, what lies near integer limits, random."""
    width = WIDTH[type]
    if width == 16:
        return list(range(1 << 16))
    values = [x / 2 for x in range(-20, 21)] + [math.inf, -math.inf, math.nan, 0.0, -0.0]
    for k in (7, 8, 15, 16, 31, 32, 63, 64):
        for d in (-1.0, -0.5, 0.0, 0.5, 1.0):
            values += [2.0**k + d, -(2.0**k) + d]
    bits = column(values, type)
    near = [b + d & (1 << width) - 1 for b in bits for d in (-1, 1)]
    return bits + near + edges(width, 300)


@cache
def values(type: str) -> list[float]:
    """The value of every code of 16 bits, by Python's struct: f16 is "e", bf16 half of "f"."""
    codes = range(1 << 16)
    if type == "f16":
        return [struct.unpack("<e", struct.pack("<H", c))[0] for c in codes]
    return [struct.unpack("<f", struct.pack("<I", c << 16))[0] for c in codes]


@pytest.mark.parametrize("direction", ("rni", "rzi", "rmi", "rpi"))
@pytest.mark.parametrize("source", ("f16", "bf16"))
@pytest.mark.parametrize("to", INTEGERS)
def test_every_half_becomes_an_integer(to: str, source: str, direction: str) -> None:
    low, high = limits(to)
    mask = (1 << WIDTH[to]) - 1
    nan = 1 << WIDTH[to] - 1 if WIDTH[to] == 64 else 0

    def want(x: float) -> int:
        if math.isnan(x):
            return nan
        if math.isinf(x):
            return (high if x > 0 else low) & mask
        return min(max(_to_whole(x, direction), low), high) & mask

    expected = [want(x) for x in values(source)]
    assert run(f"cvt.{direction}.{to}.{source}", range(1 << 16)) == expected


def _to_whole(x: Fraction | float, direction: str) -> int:
    if direction == "rni":
        return round(x)
    if direction == "rzi":
        return math.trunc(x)
    return math.floor(x) if direction == "rmi" else math.ceil(x)


@pytest.mark.parametrize("direction", ("rni", "rzi", "rmi", "rpi"))
@pytest.mark.parametrize("source", ("f32", "f64"))
@pytest.mark.parametrize("to", INTEGERS)
def test_floats_become_integers_clipped(to: str, source: str, direction: str) -> None:
    a = floats(source)
    low, high = limits(to)
    special = source == "f64" or WIDTH[to] == 64
    nan = 1 << WIDTH[to] - 1 if special else 0

    def want(x: int) -> Any:
        if is_nan(x, source):
            return nan
        if is_inf(x, source):
            return (low if x >> WIDTH[source] - 1 else high) & (1 << WIDTH[to]) - 1
        whole = _to_whole(exact(x, source), direction)
        return min(max(whole, low), high) & (1 << WIDTH[to]) - 1

    assert run(f"cvt.{direction}.{to}.{source}", a) == [want(x) for x in a]


def test_flushed_floats_become_zero() -> None:
    assert run("cvt.rpi.s32.f32", [1]) == [1]
    assert run("cvt.rpi.ftz.s32.f32", [1]) == [0]


@pytest.mark.parametrize("direction", ("rni", "rzi", "rmi", "rpi"))
@pytest.mark.parametrize("type", FLOATS)
def test_floats_become_whole_floats(type: str, direction: str) -> None:
    a = floats(type)[:: 1 if WIDTH[type] > 16 else 37]
    sign = 1 << WIDTH[type] - 1
    for x, got in zip(a, run(f"cvt.{direction}.{type}.{type}", a), strict=True):
        if is_nan(x, type):
            assert is_nan(got, type)
        elif is_inf(x, type):
            assert got == x
        else:
            whole = _to_whole(exact(x, type), direction)
            assert got == (rounded(Fraction(whole), type, "rn") if whole else x & sign)


NARROWING = (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f64"),
             ("bf16", "f16"), ("f16", "bf16"))  # fmt: skip


def near_halfway(to: str, source: str) -> list[int]:
    """Numbers of the source at and beside the middle between neighbours of the target."""
    e, m = FLOAT[to]
    random = np.random.default_rng(5)
    infinite = ((1 << e) - 1) << m
    codes = [0, 1, 2, (1 << m) - 1, 1 << m, infinite - 2, infinite - 1]
    codes += random.integers(infinite - 1, size=150).tolist()
    bits = []
    for c in codes:
        low = exact(c, to)
        high = exact(c + 1, to) if c + 1 < infinite else 2 * low - exact(c - 1, to)
        middle = rounded((low + high) / 2, source, "rz")
        bits += [middle + d for d in (-1, 0, 1)] + [rounded(low, source, "rz")] * bool(low)
    return [b ^ s for b in bits for s in (0, 1 << WIDTH[source] - 1)]


@pytest.mark.parametrize("direction", ("rn", "rz", "rm", "rp"))
@pytest.mark.parametrize(("to", "source"), NARROWING)
def test_floats_are_narrowed_rounded_once(to: str, source: str, direction: str) -> None:
    a = floats(source)[:: 1 if WIDTH[source] > 16 else 7]
    if WIDTH[to] < WIDTH[source]:
        a = a + near_halfway(to, source)
    for x, got in zip(a, run(f"cvt.{direction}.{to}.{source}", a), strict=True):
        assert got == narrowed(x, to, source, direction), hex(x)


def narrowed(x: int, to: str, source: str, direction: str) -> int:
    sign = x >> WIDTH[source] - 1 << WIDTH[to] - 1
    e, m = FLOAT[to]
    if is_nan(x, source):
        return CANONICAL[to]
    if is_inf(x, source):
        return sign | ((1 << e) - 1) << m
    value = exact(x, source)
    return rounded(value, to, direction) if value else sign


@pytest.mark.parametrize(("to", "source"), (
    ("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16"), ("f64", "bf16"),
))  # fmt: skip
def test_floats_are_widened_exactly(to: str, source: str) -> None:
    a = floats(source)
    for x, got in zip(a, run(f"cvt.{to}.{source}", a), strict=True):
        if is_nan(x, source) or is_inf(x, source):
            assert (is_nan if is_nan(x, source) else is_inf)(got, to)
        else:
            assert exact(got, to) == exact(x, source)
        assert is_nan(got, to) or got >> WIDTH[to] - 1 == x >> WIDTH[source] - 1


def test_flushing_saturation_and_identity_of_f32() -> None:
    assert run("cvt.ftz.f32.f32", [0x80000001, 5 << 23]) == [1 << 31, 5 << 23]
    assert run("cvt.f32.f32", [0x80000001]) == [0x80000001]
    values = column([0.5, 2.0, -1.0, math.nan, -0.0, math.inf], "f32")
    want = column([0.5, 1.0, 0.0, 0.0, 0.0, 1.0], "f32")
    assert run("cvt.sat.f32.f32", values) == want
    assert run("cvt.rn.ftz.f32.f64", column([2.0**-130, -(2.0**-140)], "f64")) == [0, 1 << 31]
    assert run("cvt.rn.sat.f16.f32", column([7.0, -3.0, 0.25], "f32")) == [0x3C00, 0, 0x3400]


@pytest.mark.parametrize("to", ("f16", "bf16"))
@pytest.mark.parametrize("direction", ("rn", "rz"))
def test_pairs_relu_and_finite_results(to: str, direction: str) -> None:
    a = floats("f32") + near_halfway(to, "f32")
    b = a[::-1]
    one = [narrowed(x, to, "f32", direction) for x in a]
    e, m = FLOAT[to]
    top = (((1 << e) - 1) << m) - 1
    for modifiers in ("", ".relu", ".satfinite", ".relu.satfinite"):
        want = one
        if "satfinite" in modifiers:
            want = [w if is_nan(w, to) else w & 0x8000 | min(w & 0x7FFF, top) for w in want]
        if "relu" in modifiers:
            want = [0 if w >> 15 else w for w in want]
        assert run(f"cvt.{direction}{modifiers}.{to}.f32", a) == want
        pair = [x << 16 | y for x, y in zip(want, want[::-1], strict=True)]
        assert run(f"cvt.{direction}{modifiers}.{to}x2.f32", a, b) == pair


def test_tf32_keeps_ten_bits() -> None:
    a = floats("f32")

    def want(x: int, direction: str) -> int:
        if is_nan(x, "f32"):
            return 0x7FFFFFFF
        if is_inf(x, "f32") or not exact(x, "f32"):
            return x
        # tf32 is the upper 19 bits of an f32: in units of the last one.
        size, unit = x & 0x7FFFFFFF, 1 << 13
        rest = size % unit
        up = {"rz": False, "rna": rest >= unit // 2}.get(
            direction, rest > unit // 2 or (rest == unit // 2 and size // unit % 2 == 1)
        )
        return x & 1 << 31 | size - rest + (unit if up else 0)

    for direction in ("rna", "rn", "rz"):
        full = [want(x, direction) for x in a]
        assert run(f"cvt.{direction}.tf32.f32", a) == full
        finite = [w & 1 << 31 | 0x7F7FE000 if w & 0x7FFFFFFF == 0x7F800000 else w for w in full]
        assert run(f"cvt.{direction}.satfinite.tf32.f32", a) == finite
    relu = [0 if w >> 31 else w for w in (want(x, "rn") for x in a)]
    assert run("cvt.rn.relu.tf32.f32", a) == relu


SMALL = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def _small(values: Any, name: str) -> Any:
    """Codes by ml_dtypes: clipped first, so that nothing overflows; NaN has no say here."""
    kind = SMALL[name]
    largest = float(ml_dtypes.finfo(kind).max)
    return np.clip(values, -largest, largest).astype(kind).view(np.uint8)


def _join(high: Any, low: Any, name: str) -> Any:
    return (high.astype(int) << (4 if name == "e2m1" else 8) | low.astype(int)).tolist()


@pytest.mark.parametrize("name", SMALL)
def test_small_formats_are_rounded_and_clipped(name: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    numbers = {
        "bf16x2": (every.astype(np.uint32) << 16).view(np.float32),
        "f16x2": every.view(np.float16).astype(np.float32),
    }
    beside = numbers["bf16x2"].view(np.uint32)
    for x in (beside, beside + 1, beside - 1):
        x = x[np.isfinite(x.view(np.float32))]
        want = _small(x.view(np.float32), name)
        got = run(f"cvt.rn.satfinite.{name}x2.f32", x.tolist(), x[::-1].tolist())
        assert got == _join(want, want[::-1], name)
        relu = np.where(np.signbit(x.view(np.float32)), 0, want)
        assert run(f"cvt.rn.relu.satfinite.{name}x2.f32", x.tolist(), x.tolist()) == _join(
            relu, relu, name
        )
    for source, values in numbers.items():
        codes = every[np.isfinite(values)].astype(np.uint32)
        want = _small(values[np.isfinite(values)], name)
        got = run(f"cvt.rn.satfinite.{name}x2.{source}", (codes << 16 | codes[::-1]).tolist())
        assert got == _join(want, want[::-1], name)


@pytest.mark.parametrize("name", SMALL)
def test_nan_and_infinities_in_small_formats(name: str) -> None:
    largest = int(_small(np.array([1e30], np.float32), name)[0])
    nan = {"e4m3": 0x7F, "e5m2": 0x7F}.get(name, largest)
    sign = {8: 0x80, 6: 0x20, 4: 8}[{"e4m3": 8, "e5m2": 8, "e2m1": 4}.get(name, 6)]
    a = column([math.nan, math.inf, -math.inf], "f32") + [0x7F800001, 0xFFC00000]
    want = np.array([nan, largest, largest | sign, nan, nan])
    assert run(f"cvt.rn.satfinite.{name}x2.f32", a, a) == _join(want, want, name)


@pytest.mark.parametrize("name", SMALL)
def test_small_formats_are_read_exactly(name: str) -> None:
    count = {"e4m3": 256, "e5m2": 256, "e2m1": 16}.get(name, 64)
    codes = np.arange(count, dtype=np.uint8)
    with np.errstate(all="ignore"):
        half = codes.view(SMALL[name]).astype(np.float32).astype(np.float16)
    want = np.where(np.isnan(half), 0x7FFF, half.view(np.uint16)).astype(int)
    packed = _join(codes, codes[::-1], name)
    got = run(f"cvt.rn.f16x2.{name}x2", packed)
    assert got == (want << 16 | want[::-1]).tolist()
    relu = np.where((want >> 15 == 1), 0, want)
    assert run(f"cvt.rn.relu.f16x2.{name}x2", packed) == (relu << 16 | relu[::-1]).tolist()


def test_powers_of_two_without_sign() -> None:
    codes = list(range(256))
    value = np.array(codes, np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    with np.errstate(all="ignore"):
        bits = np.where(np.isnan(value), 0x7FFF, value.view(np.uint32) >> 16).astype(int)
    got = run("cvt.rn.bf16x2.ue8m0x2", [c << 8 | c for c in codes])
    assert got == (bits << 16 | bits).tolist()
    a = column([1.0, 1.5, 2.0, 0.75, 3.0, 2.0**-127, 2.0**-149, 0.0], "f32")
    assert [x & 255 for x in run("cvt.rz.ue8m0x2.f32", a, a)] == [127, 127, 128, 126, 128, 0, 0, 0]
    assert [x & 255 for x in run("cvt.rp.ue8m0x2.f32", a, a)] == [127, 128, 128, 127, 129, 0, 0, 0]
    top = column([3e38, math.inf, math.nan], "f32")
    assert [x >> 8 for x in run("cvt.rp.satfinite.ue8m0x2.f32", top, top)] == [254, 254, 255]


@pytest.mark.parametrize("type", ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"))
def test_integers_are_packed_clipped(type: str) -> None:
    values = edges(32, 30)[::3]
    a, b = [x for x in values for _ in values], values * len(values)
    c = [(x * 0x9E3779B9 + 1) & 0xFFFFFFFF for x in range(len(a))]
    width = int(type[1:])
    low, high = (
        (-(1 << width - 1), (1 << width - 1) - 1) if type[0] == "s" else (0, (1 << width) - 1)
    )

    def part(x: int) -> int:
        return min(max(seen(x, "s32"), low), high) & (1 << width) - 1

    pair = [part(x) << width | part(y) for x, y in zip(a, b, strict=True)]
    if width == 16:
        assert run(f"cvt.pack.sat.{type}.s32", a, b) == pair
    else:
        want = [(z << 2 * width | p) & 0xFFFFFFFF for p, z in zip(pair, c, strict=True)]
        assert run(f"cvt.pack.sat.{type}.s32.b32", a, b, c) == want


def test_wider_registers_give_their_low_bits() -> None:
    f = form(written("cvt.u32.u8", 1))
    assert f.compute(np.array([0x1FF, 0x80], np.uint32)).tolist() == [0xFF, 0x80]
    f = form(written("cvt.s32.s8", 1))
    assert f.compute(np.array([0x1FF, 0x80], np.uint16)).tolist() == [0xFFFFFFFF, 0xFFFFFF80]


def test_a_result_fits_into_a_wider_register_as_its_type_says() -> None:
    bits = np.array([0x80, 0x7F], np.uint8)
    assert fit(bits, "s8", 16).tolist() == [0xFF80, 0x7F]
    assert fit(bits, "u8", 32).tolist() == [0x80, 0x7F]
    assert fit(np.array([0x12345678], np.uint32), "b32", 16).tolist() == [0x5678]
    assert fit(bits, "u8", 8) is bits


@given(st.integers(0, 2**64 - 1), st.sampled_from(["rn", "rz", "rm", "rp"]))
@settings(max_examples=200, deadline=None)
def test_any_f64_is_narrowed_rounded_once(x: int, direction: str) -> None:
    for to in ("f32", "f16", "bf16"):
        assert run(f"cvt.{direction}.{to}.f64", [x]) == [narrowed(x, to, "f64", direction)]


@pytest.mark.parametrize("name", ("cvt.f16.f32", "cvt.rn.f32.f16", "cvt.s32.f32", "cvt.rn.s32.f32",
                                  "cvt.f32.s32", "cvt.rni.f32.f64", "cvt.rn.e4m3x2.f32", "cvt.u32",
                                  "cvt.rs.f16x2.f32", "cvt.ftz.f64.f64", "cvt.rm.f16x2.f32",
                                  "cvt.rz.satfinite.e4m3x2.f32", "cvt.satfinite.f32.f32",
                                  "cvt.rn.relu.f32.f64", "cvt.pack.u8.s32.b32", "cvt.rna.f16.f32",
                                  "cvt.rn.f16x2.ue8m0x2", "cvt.rn.bf16x2.e4m3x2"))  # fmt: skip
def test_forms_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(written(name))


def test_between_halves_nearest_is_what_no_direction_means() -> None:
    every = list(range(0, 1 << 16, 3))
    assert run("cvt.bf16.f16", every) == run("cvt.rn.bf16.f16", every)
    assert run("cvt.f16.bf16", every) == run("cvt.rn.f16.bf16", every)

"""Conversions, single-rounding arithmetic and the matrix units against exact arithmetic.

The oracles here build values from codes with integers and fractions, and round by looking a value
up between neighbours; they share nothing with the functions that they judge. All conversions were
also compared with an sm_90 GPU, bit for bit, over every 16-bit pattern.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blockstep.language import numerics

Array = NDArray[Any]

# exponent bits, fraction bits, bias, and the codes from which on there are no finite values
LAYOUT = {
    "float16": (5, 10, 15, 0x7C00),
    "bfloat16": (8, 7, 127, 0x7F80),
    "float8e4nv": (4, 3, 7, 0x7F),
    "float8e5": (5, 2, 15, 0x7C),
    "float8e4b8": (4, 3, 8, 0x80),
    "float8e5b16": (5, 2, 16, 0x80),
    "float8e4b15": (4, 3, 15, 0x80),
}
FP8 = ["float8e4nv", "float8e5", "float8e4b8", "float8e5b16"]


def value_of(name: str, code: int) -> Fraction:
    """The value of a non-negative finite code."""
    _, fraction, bias, _ = LAYOUT[name]
    exponent, low = code >> fraction, code & ((1 << fraction) - 1)
    if exponent == 0:
        return Fraction(low) * Fraction(2) ** (1 - bias - fraction)
    return Fraction((1 << fraction) + low) * Fraction(2) ** (exponent - bias - fraction)


@cache
def ladder(name: str) -> NDArray[np.float64]:
    """All non-negative finite values in code order (float64 holds each exactly)."""
    return np.array([float(value_of(name, code)) for code in range(LAYOUT[name][3])])


def codes_of(name: str, x: Array) -> Array:
    """The sign-and-magnitude codes in integers, whatever the storage type."""
    return np.asarray(x).view(f"u{np.asarray(x).dtype.itemsize}").astype(np.int64)


def nearest_codes(name: str, x: NDArray[np.float64], rtz: bool = False) -> NDArray[np.int64]:
    """Codes of the magnitude of finite `x`; one past the last finite code on overflow."""
    values, magnitude = ladder(name), np.abs(x)
    step = values[-1] - values[-2]
    rungs = np.append(values, values[-1] + step)
    below = np.searchsorted(rungs, magnitude, side="right") - 1
    below = np.minimum(below, len(values))
    if rtz:
        return np.minimum(below, len(values) - 1).astype(np.int64)
    above = np.minimum(below + 1, len(values))
    middle = (rungs[below] + rungs[above]) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (below % 2 == 1))
    return np.where(up, above, below).astype(np.int64)


def expected_codes(name: str, x: NDArray[np.float64], rtz: bool = False) -> NDArray[np.int64]:
    bits, end = 8 * numerics.format_of(name).storage.itemsize, LAYOUT[name][3]
    finite = np.where(np.isfinite(x), x, 0)
    codes = nearest_codes(name, finite, rtz)
    fp8 = bits == 8
    infinity = end - 1 if fp8 else end
    codes = np.where(codes >= end, infinity, codes)
    codes = np.where(np.isinf(x), infinity, codes)
    if rtz and name == "float8e5":
        codes = np.where(np.isinf(x), 0x7C, codes)
    sign = np.signbit(x).astype(np.int64) << (bits - 1)
    fnuz = name in ("float8e4b8", "float8e5b16")
    codes = np.where((codes == 0) & fnuz, 0, codes | sign)
    nan = 0x80 if fnuz else (0x7F if fp8 else 0x7FFF)
    return np.where(np.isnan(x), nan, codes)


def test_the_oracle_agrees_with_fractions() -> None:
    values = [value_of("float8e4nv", code) for code in range(0x7F)]
    for step in range(4000):
        exact = Fraction(step, 8) + Fraction(step % 7, 1000)
        at = bisect_left(values, exact)
        near = min(
            (c for c in (at - 1, at) if 0 <= c < len(values)),
            key=lambda c: (abs(values[c] - exact), c % 2),
        )
        got = nearest_codes("float8e4nv", np.array([float(exact)]))[0]
        assert min(got, 0x7E) == near


@pytest.mark.parametrize("target", ["float32", "float64"])
@pytest.mark.parametrize("name", list(LAYOUT))
def test_every_code_widens_exactly(name: str, target: str) -> None:
    form = numerics.format_of(name)
    count, end = 1 << (8 * form.storage.itemsize), LAYOUT[name][3]
    codes = np.arange(count).astype(f"u{form.storage.itemsize}")
    got = numerics.convert(codes.view(form.storage), name, target)
    half = count // 2
    finite = min(end, half)
    assert np.array_equal(got[:finite].astype(np.float64), ladder(name)[:finite])
    assert np.array_equal(got[half + 1 : half + finite], -got[1:finite])
    rest = got[finite:half]
    infinities = 1 if name in ("float16", "bfloat16", "float8e5") else 0
    assert np.isinf(rest[:infinities]).all() and np.isnan(rest[infinities:]).all()
    assert np.isnan(got[half]) == (name in ("float8e4b8", "float8e5b16"))


@pytest.mark.parametrize("source", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", FP8)
def test_every_16_bit_pattern_narrows_to_fp8(source: str, target: str) -> None:
    x = np.arange(65536, dtype=np.uint16).view(numerics.format_of(source).storage)
    got = codes_of(target, numerics.convert(x, source, target))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(got, expected_codes(target, x.astype(np.float64)))


def float32_samples(name: str) -> NDArray[np.float32]:
    """Random bit patterns, and the neighbourhoods of all values and midpoints of the format."""
    rng = np.random.default_rng(7)
    random = rng.integers(0, 1 << 32, 1_000_000, dtype=np.uint64).astype(np.uint32)
    values = ladder(name)
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, [values[-1] * 2]])
    with np.errstate(over="ignore"):
        near = points.astype(np.float32).view(np.uint32)
    around = np.concatenate([near, near + 1, near - 1]).astype(np.uint32)
    return np.concatenate([random, around, around | 0x80000000]).view(np.float32)


@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("target", [*FP8, "float16", "bfloat16"])
def test_a_million_float32_narrow(target: str, rounding: str | None) -> None:
    x = float32_samples(target)
    got = codes_of(target, numerics.convert(x, "float32", target, rounding))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(got, expected_codes(target, x.astype(np.float64), rounding == "rtz"))


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float8e4nv"])
def test_float64_rounds_once(target: str) -> None:
    trap = 1 + 2.0 ** -(LAYOUT[target][1] + 1)  # a tie, and a hair above it
    samples = float32_samples(target)[-90_000:]
    x = np.append(samples[~np.isnan(samples)].astype(np.float64), trap)
    x = np.concatenate([x, x * (1 + 2.0**-45), x * (1 - 2.0**-45)])
    got = codes_of(target, numerics.convert(x, "float64", target))
    assert np.array_equal(got, expected_codes(target, x))


@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64", "int16", "uint8"])
@pytest.mark.parametrize("target", ["bfloat16", "float16", "float32"])
def test_integers_round_once(source: str, target: str) -> None:
    limits = np.iinfo(source)
    rng = np.random.default_rng(3)
    x = rng.integers(limits.min, limits.max, 4000, dtype=source, endpoint=True)
    x = x >> rng.integers(0, limits.bits, 4000).astype(source)
    ties = [v for k in range(limits.bits - 2) for v in (3 << k, (3 << k) + 1, (513 << k) + 1)]
    x = np.concatenate([x, np.array([v for v in ties if v <= limits.max], source)])
    x = np.append(x, np.array([limits.min, limits.max, 0], source))
    got = numerics.convert(x, source, target).astype(np.float64)
    for value, result in zip(x.tolist(), got.tolist(), strict=True):
        assert result == rounded_integer(value, target)


def rounded_integer(value: int, target: str) -> float:
    digits, largest = {
        "bfloat16": (8, float(value_of("bfloat16", 0x7F7F))),
        "float16": (11, 65504.0),
        "float32": (24, float(np.finfo(np.float32).max)),
    }[target]
    drop = max(abs(value).bit_length() - digits, 0)
    whole, rest = abs(value) >> drop, abs(value) & ((1 << drop) - 1)
    half = 1 << drop >> 1
    whole += drop > 0 and (rest > half or (rest == half and whole & 1 == 1))
    result = float(whole << drop)
    return float(np.copysign(result if result <= largest else np.inf, value or 1))


LIMITS = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1),
          "uint64": (0, 2**64 - 1), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}  # fmt: skip


@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("target", [*LIMITS, "int8", "uint8"])
def test_floats_saturate_to_integers(source: str, target: str) -> None:
    storage = numerics.format_of(source).storage
    powers = [s * 2.0**k + d for k in range(66) for s in (1, -1) for d in (0, 0.5, -0.5, 1, -1)]
    x = np.array([*powers, 0.0, -0.0, 0.99, -0.99, 1e30, -1e30], np.float64)
    with np.errstate(over="ignore"):
        x = np.concatenate([x, [np.inf, -np.inf]]).astype(storage)
    got = numerics.convert(x, source, target)
    low, high = LIMITS[{"int8": "int16", "uint8": "uint16"}.get(target, target)]
    for value, result in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
        whole = (high if value > 0 else low) if np.isinf(value) else min(max(int(value), low), high)
        if target in ("int8", "uint8"):
            whole &= 255
            whole -= 256 if target == "int8" and whole > 127 else 0
        assert result == whole, (value, result)


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        ("float32", "int32", 0),
        ("float32", "uint32", 0),
        ("bfloat16", "int16", 0),
        ("float32", "int64", -(2**63)),
        ("float16", "uint64", 2**63),
        ("float64", "int32", -(2**31)),
        ("float64", "uint32", 2**31),
        ("float64", "int8", 0),
    ],
)
def test_nan_becomes_zero_or_the_top_bit(source: str, target: str, result: int) -> None:
    x = np.array(np.nan, numerics.format_of(source).storage)
    assert int(numerics.convert(x, source, target)) == result


def test_int1_is_not_equal_to_zero() -> None:
    x = np.array([0.0, -0.0, 0.25, np.nan, 1e-45], np.float32)
    assert numerics.convert(x, "float32", "int1").tolist() == [False, False, True, True, True]
    assert numerics.convert(np.array([0, 256]), "int64", "int1").tolist() == [False, True]
    assert numerics.convert(np.array([True, False]), "int1", "int32").tolist() == [1, 0]


def test_integer_narrowing_keeps_the_low_bits() -> None:
    x = np.array([300, -129, 255, 2**31 - 1], np.int32)
    assert numerics.convert(x, "int32", "int8").tolist() == [44, 127, -1, -1]
    assert numerics.convert(x, "int32", "uint8").tolist() == [44, 127, 255, 255]


def test_e4b15_clamps_and_rounds_half_up() -> None:
    for code in range(0x8000):
        clamped = min(code, 0x3F00)
        want = (clamped + 0x40) // 0x80
        x = np.array([code, code | 0x8000], np.uint16).view(np.float16)
        assert numerics.convert(x, "float16", "float8e4b15").tolist() == [want, want | 0x80]


def test_float32_to_e4b15_drops_bits_first() -> None:
    x = np.array([1 + 2.0**-4 - 2.0**-20, 1 + 2.0**-4, 9.0], np.float32)
    assert numerics.convert(x, "float32", "float8e4b15").tolist() == [0x78, 0x79, 0x7E]


def test_nan_has_one_code() -> None:
    x = np.array([0xFFC12345, 0x7F800001], np.uint32).view(np.float32)
    for target, code in (("float16", 0x7FFF), ("bfloat16", 0x7FFF), ("float8e5", 0x7F)):
        assert codes_of(target, numerics.convert(x, "float32", target)).tolist() == [code, code]


def test_long_arrays_widen_as_short_ones_do() -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    whole = numerics.convert(x, "float16", "float32").view(np.uint32)
    finite = np.isfinite(x)
    calm = numerics.convert(x[finite], "float16", "float32").view(np.uint32)
    pieces = [numerics.convert(p, "float16", "float32") for p in x.reshape(256, 256)]
    assert np.array_equal(whole, np.concatenate(pieces).view(np.uint32))
    assert np.array_equal(whole[finite], calm)


@pytest.mark.parametrize("source", list(numerics.FORMATS))
@pytest.mark.parametrize("target", list(numerics.FORMATS))
def test_shapes_and_scalars(source: str, target: str) -> None:
    held = numerics.format_of(source).storage
    x = np.arange(96, dtype=np.uint8)
    x = np.resize((x % 2).astype(bool) if source == "int1" else x.view(held), 12)
    wanted = numerics.format_of(target).storage
    whole = numerics.convert(x, source, target)
    assert whole.dtype == wanted and whole.shape == (12,)
    assert numerics.convert(x[:0], source, target).shape == (0,)
    block = numerics.convert(x.reshape(3, 4).T, source, target)
    assert block.shape == (4, 3) and block.T.tobytes() == whole.tobytes()
    scalar = numerics.convert(x[5], source, target)
    assert scalar.dtype == wanted and np.asarray(scalar).tobytes() == whole[5:6].tobytes()


DIGITS = {
    "float16": (11, -24),
    "bfloat16": (8, -133),
    "float32": (24, -149),
    "float64": (53, -1074),
}
TOP = {"float16": 16, "bfloat16": 128, "float32": 128, "float64": 1024}


def rounded(exact: Fraction, name: str, mode: str) -> float:
    """A nonzero exact value in the format, by integer division."""
    (digits, least), top = DIGITS[name], TOP[name]
    size, negative = abs(exact), exact < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    whole, rest = divmod(size, unit)
    outward = (mode == "ru" and not negative) or (mode == "rd" and negative)
    if mode == "rn":
        whole += rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1)
    else:
        whole += outward and rest > 0
    result = whole * unit
    if result >= Fraction(2) ** top:
        largest = float(Fraction(2) ** top - Fraction(2) ** (top - digits))
        result_float = np.inf if mode == "rn" or outward else largest
    else:
        result_float = float(result)
    return -result_float if negative else result_float


def operands(name: str, count: int, seed: int) -> list[Array]:
    """Three arrays of finite values: all magnitudes, near cancellation, edges."""
    rng, storage = np.random.default_rng(seed), numerics.format_of(name).storage
    raw = rng.integers(0, 256, (3, count * storage.itemsize), dtype=np.uint8).view(storage)
    calm = rng.standard_normal((3, count)).astype(storage)
    digits, least = DIGITS[name]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0**least, -(2.0**least), 2.0 ** (least + digits)])
    edges = np.append(edges, [2.0 ** (TOP[name] - 1) * (2 - 2.0 ** (1 - digits))]).astype(storage)
    x = np.where(rng.random((3, count)) < 0.3, raw, calm)
    x = np.where(rng.random((3, count)) < 0.3, rng.choice(edges, (3, count)), x)
    with np.errstate(all="ignore"):
        x[2] = np.where(rng.random(count) < 0.3, (-(x[0] * x[1])).astype(storage), x[2])
        return [np.where(np.isfinite(v.astype(np.float64)), v, storage.type(1)) for v in x]


EXACT: dict[str, tuple[Callable[..., Any], Callable[..., Fraction]]] = {
    "add": (lambda x, y, z, m: numerics.add(x, z, m), lambda x, y, z: x + z),
    "sub": (lambda x, y, z, m: numerics.sub(x, z, m), lambda x, y, z: x - z),
    "mul": (lambda x, y, z, m: numerics.mul(x, y, m), lambda x, y, z: x * y),
    "div": (lambda x, y, z, m: numerics.div(x, y, m), lambda x, y, z: x / y if y else Fraction(0)),
    "fma": (lambda x, y, z, m: numerics.fma(x, y, z, m), lambda x, y, z: x * y + z),
}


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("operation", list(EXACT))
def test_arithmetic_rounds_once(operation: str, name: str, mode: str) -> None:
    compute, exact = EXACT[operation]
    x, y, z = operands(name, 1500, seed=11)
    with np.errstate(all="ignore"):
        got = compute(x, y, z, mode)
    assert got.dtype == x.dtype
    for a, b, c, result in zip(x.tolist(), y.tolist(), z.tolist(), got.tolist(), strict=True):
        value = exact(Fraction(a), Fraction(b), Fraction(c))
        if value:
            want = rounded(value, name, mode)
            assert result == want and np.signbit(result) == np.signbit(want), (a, b, c)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_short_fma_rounds_once(name: str) -> None:
    x, y, z = operands(name, 6000, seed=5)
    got = numerics.fma(x, y, z).astype(np.float64)
    columns = [v.astype(np.float64).tolist() for v in (x, y, z)]
    for a, b, c, result in zip(*columns, got.tolist(), strict=True):
        value = Fraction(a) * Fraction(b) + Fraction(c)
        assert result == (rounded(value, name, "rn") if value else 0), (a, b, c)


def test_fma_sees_past_an_overflowing_product() -> None:
    big = np.float64(1e200)
    assert numerics.fma(big, big, np.float64(-np.inf)) == -np.inf
    assert np.isnan(numerics.fma(np.float64(np.inf), big, np.float64(-np.inf)))
    assert numerics.fma(big, big, np.float64(1.0)) == np.inf


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_an_exact_zero_sum_is_negative_only_rounding_down(name: str) -> None:
    one = np.ones(1, name)
    for mode in ("rn", "rz", "ru", "rd"):
        for result in (numerics.add(one, -one, mode), numerics.fma(one, one, -one, mode)):
            assert result[0] == 0 and np.signbit(result[0]) == (mode == "rd")


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_square_roots_round_once(name: str, mode: str) -> None:
    x = np.abs(operands(name, 2000, seed=2)[0])
    got = numerics.sqrt(x, mode)
    one = x.dtype.type
    above, below = np.nextafter(got, one(np.inf)), np.nextafter(got, one(0))
    for value, root, up, down in zip(x, got, above, below, strict=True):
        if value == 0:
            continue
        exact, r, u, d = (Fraction(float(v)) for v in (value, root, up, down))
        inside = {
            "rn": ((r + d) / 2) ** 2 <= exact <= ((r + u) / 2) ** 2,
            "ru": d * d < exact <= r * r,
        }.get(mode, r * r <= exact < u * u)
        assert inside, (value, mode)


def test_tf32_drops_and_rounds_13_bits() -> None:
    x = np.array([0x3F801FFF, 0x3F801000, 0x3F800FFF, 0xBF801000, 0x7F800000], np.uint32)
    x = x.view(np.float32)
    dropped, away = numerics.tf32(x).view(np.uint32), numerics.tf32_rna(x).view(np.uint32)
    assert dropped.tolist() == [0x3F800000, 0x3F800000, 0x3F800000, 0xBF800000, 0x7F800000]
    assert away.tolist() == [0x3F802000, 0x3F802000, 0x3F800000, 0xBF802000, 0x7F800000]


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "bf16x3", "bf16x6", "ieee"])
def test_leading_axes_do_not_change_a_dot(precision: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, 3, 16, 32)).astype(np.float32)
    b = np.swapaxes(rng.standard_normal((2, 3, 8, 32)).astype(np.float32), -1, -2)
    acc = rng.standard_normal((2, 3, 16, 8)).astype(np.float32)
    whole = numerics.dot(a, b, acc, precision)
    for i, j in np.ndindex(2, 3):
        one = numerics.dot(a[i, j], np.ascontiguousarray(b[i, j]), acc[i, j], precision)
        assert np.array_equal(whole[i, j], one)


def test_more_products_are_closer() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    errors = {
        p: np.abs(numerics.dot(a, b, None, p) - exact).max()
        for p in ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee")
    }
    assert errors["tf32"] > 1e-3 > errors["bf16x3"] > errors["tf32x3"]
    assert errors["bf16x6"] < 5e-5 > errors["ieee"]


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_split_products_keep_infinities(precision: str) -> None:
    a = np.full((1, 16), 1.0, np.float32)
    a[0, 0] = np.inf
    assert numerics.dot(a, np.ones((16, 1), np.float32), None, precision)[0, 0] == np.inf


def test_products_of_short_floats_are_exact() -> None:
    rng = np.random.default_rng(2)
    for name in ("float16", "bfloat16", "float8e4nv", "float8e5"):
        storage = numerics.format_of(name).storage
        a, b = (rng.integers(-8, 8, (16, 16)).astype(storage) for _ in range(2))
        exact = a.astype(np.float64) @ b.astype(np.float64)
        assert np.array_equal(numerics.dot(a, b), exact.astype(np.float32))
        half = numerics.dot(a, b, np.ones((16, 16), np.float16), None, "float16")
        assert half.dtype == np.float16 and np.array_equal(half, (exact + 1).astype(np.float16))


@pytest.mark.parametrize("depth", [32, 1024, 4096])
def test_int8_dot_is_exact(depth: int) -> None:
    a = np.random.default_rng(4).integers(-128, 128, (2, 8, depth)).astype(np.int8)
    a[0, 0] = -128
    b = np.swapaxes(a, 1, 2)
    acc = np.full((2, 8, 8), 2**31 - 1, np.int32)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(numerics.dot(a, b, None, None, "int32"), exact)
    wrapped = (exact + 2**31 - 1).astype(np.int32)
    assert np.array_equal(numerics.dot(a, b, acc, None, "int32"), wrapped)


def test_e2m1_and_e8m0_decode() -> None:
    values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    packed = np.array([[0x10, 0x32, 0x54, 0x76, 0x98]], np.uint8)
    assert numerics.e2m1(packed)[0, :8].tolist() == values
    assert np.signbit(numerics.e2m1(packed)[0, 8]) and numerics.e2m1(packed)[0, 9] == -0.5
    assert numerics.e2m1(packed.T, axis=0)[:8, 0].tolist() == values
    scales = numerics.e8m0(np.array([127, 128, 0, 255], np.uint8))
    assert scales[:3].tolist() == [1, 2, 2.0**-127] and np.isnan(scales[3])


@pytest.mark.parametrize("form", ["e2m1", "e4m3", "e5m2"])
@pytest.mark.parametrize("other", ["bf16", "fp16"])
def test_scaled_dot_against_loops(form: str, other: str) -> None:
    rng = np.random.default_rng(9)
    m, n, k = 4, 3, 64
    codes = rng.integers(0, 256, (m, k // 2 if form == "e2m1" else k), dtype=np.uint8)
    if form != "e2m1":
        codes &= 0xBF  # magnitudes below 2: their products with the scales fit float16
    scale = rng.integers(125, 130, (m, k // 32), dtype=np.uint8)
    storage = numerics.format_of({"bf16": "bfloat16", "fp16": "float16"}[other]).storage
    b = rng.integers(-2, 3, (k, n)).astype(storage)
    got = numerics.dot_scaled(codes, scale, form, b, None, other)
    for i, j in np.ndindex(m, n):
        total = Fraction(0)
        for step in range(k):
            total += decode_scaled(form, codes[i], step, int(scale[i, step // 32])) * int(
                b[step, j]
            )
        assert got[i, j] == pytest.approx(float(total), rel=1e-5, abs=1e-4)


def decode_scaled(form: str, row: Array, step: int, scale: int) -> Fraction:
    if form == "e2m1":
        code = int(row[step // 2]) >> (4 * (step % 2)) & 15
        size = [Fraction(v) / 2 for v in (0, 1, 2, 3, 4, 6, 8, 12)][code & 7]
        sign = code & 8
    else:
        code = int(row[step])
        size = value_of({"e4m3": "float8e4nv", "e5m2": "float8e5"}[form], code & 0x7F)
        sign = code & 0x80
    return (-size if sign else size) * Fraction(2) ** (scale - 127)


def test_a_nan_scale_is_nan_unless_fast() -> None:
    a, scale = np.full((1, 32), 0x38, np.uint8), np.full((1, 1), 255, np.uint8)
    b = np.ones((32, 1), np.float16).astype(numerics.format_of("bfloat16").storage)
    assert np.isnan(numerics.dot_scaled(a, scale, "e4m3", b, None, "bf16")[0, 0])
    fast = numerics.dot_scaled(a, scale, "e4m3", b, None, "bf16", fast_math=True)
    assert np.isinf(fast[0, 0])

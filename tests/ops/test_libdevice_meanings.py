"""Every libdevice function: its types, and its values against integers, fractions and scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blockstep.language import types as ty
from blockstep.language.numerics import format_of
from blockstep.language.ops.libdevice import CALL, LIBDEVICE

Array = NDArray[Any]


def call(name: str, *operands: Any) -> Any:
    return LIBDEVICE[name].compute(*operands)


def sample(kind: str, count: int = 64) -> Array:
    """Values of all magnitudes and the edges of the type."""
    rng = np.random.default_rng(5)
    storage = format_of(kind).storage
    if storage.kind == "f":
        usual = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]
        return np.asarray(np.append(usual[: count - len(edges)], edges), storage)
    limits = np.iinfo(storage)
    x = rng.integers(limits.min, limits.max, count, dtype=storage, endpoint=True)
    x = np.asarray(x >> rng.integers(0, limits.bits, count).astype(storage))
    x[:3] = [limits.min, limits.max, 0]
    return x


def test_there_are_198_functions() -> None:
    assert len(LIBDEVICE) == 198
    assert sum(len(f.overloads) for f in LIBDEVICE.values()) == 314


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(LIBDEVICE))
def test_every_overload_computes_blocks_and_scalars(name: str) -> None:
    function = LIBDEVICE[name]
    assert function.doc
    for overload in function.overloads:
        operands = [sample(kind) for kind in overload.operands]
        whole = function.compute(*operands)
        assert whole.dtype == format_of(overload.result).storage and whole.shape == (64,)
        folded = function.compute(*[x.reshape(4, 16) for x in operands])
        assert folded.tobytes() == whole.tobytes()
        for at in (0, 5, 60):
            one = function.compute(*[x[at] for x in operands])
            assert np.asarray(one).tobytes() == whole[at : at + 1].tobytes()


def test_the_type_rule_demands_an_exact_overload() -> None:
    block = ty.block_type(ty.float32, [8])
    assert CALL.rule(block, function="sin") == block
    assert CALL.rule(ty.float32, function="isnan") == ty.int1
    assert CALL.rule(block, ty.block_type(ty.int32, [8]), function="ldexp") == block
    with pytest.raises(TypeError, match=r"libdevice.sin takes \(float32\) or \(float64\)"):
        CALL.rule(ty.float16, function="sin")
    with pytest.raises(TypeError, match="pow takes"):
        CALL.rule(ty.float32, ty.float64, function="pow")


def bits_of(value: int, width: int) -> str:
    return f"{value & ((1 << width) - 1):0{width}b}"


def signed(bits: str) -> int:
    return int(bits, 2) - (int(bits[0]) << len(bits))


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_bit_counts_and_reversal(kind: str) -> None:
    x, width = sample(kind, 300), np.iinfo(kind).bits
    for value, ones, zeros, first, turned in zip(
        x.tolist(), call("popc", x), call("clz", x), call("ffs", x), call("brev", x), strict=True
    ):
        text = bits_of(value, width)
        assert ones == text.count("1")
        assert zeros == len(text) - len(text.lstrip("0"))
        assert first == (0 if value == 0 else len(text) - text.rindex("1"))
        assert turned == signed(text[::-1])


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_high_products(kind: str) -> None:
    x, y = sample(kind, 300), sample(kind, 300)[::-1]
    width = np.iinfo(kind).bits
    for a, b, high in zip(x.tolist(), y.tolist(), call("mulhi", x, y).tolist(), strict=True):
        assert high == (a * b) >> width


@pytest.mark.parametrize("kind", ["int32", "uint32"])
def test_averages_differences_and_24_bit_products(kind: str) -> None:
    x, y, z = sample(kind, 300), sample(kind, 300)[::-1], sample("uint32", 300)

    def wrap(value: int) -> int:
        return signed(bits_of(value, 32)) if kind == "int32" else value % 2**32

    def low24(value: int) -> int:
        return signed(bits_of(value, 24)) if kind == "int32" else value % 2**24

    columns = [v.tolist() for v in (x, y, z)]
    results = [call("hadd", x, y), call("rhadd", x, y), call("mul24", x, y), call("sad", x, y, z)]
    for a, b, c, down, up, product, distance in zip(*columns, *results, strict=True):
        assert (down, up) == ((a + b) // 2, (a + b + 1) // 2)
        assert product == wrap(low24(a) * low24(b))
        assert distance == wrap(abs(a - b) + c)


def test_byte_perm_picks_bytes() -> None:
    x, y = np.int32(0x33221100), np.int32(0x77665544)
    assert call("byte_perm", x, y, np.int32(0x7531)) == 0x77553311
    assert call("byte_perm", x, y, np.int32(0x0246)) == 0x00224466
    assert call("byte_perm", x, y, np.int32(0x8888)) == 0


def test_words_of_a_double() -> None:
    x = np.array([1.0, -2.5, 5e-324])
    high, low = call("double2hiint", x), call("double2loint", x)
    assert high.tolist() == [0x3FF00000, -0x3FFC0000, 0] and low.tolist() == [0, 0, 1]
    assert np.array_equal(call("hiloint2double", high, low), x)
    assert call("float_as_uint", np.float32(-1.0)) == np.int32(-0x40800000)
    assert call("uint_as_float", np.uint32(0xBF800000)) == -1.0


WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "rd": math.floor,
    "ru": math.ceil,
}


@pytest.mark.parametrize("mode", list(WHOLE))
@pytest.mark.parametrize("target", ["int", "uint", "ll", "ull"])
@pytest.mark.parametrize("source", ["float", "double"])
def test_float_to_integer_in_every_direction(source: str, target: str, mode: str) -> None:
    storage = np.float32 if source == "float" else np.float64
    powers = [s * (2.0**k + d) for k in range(66) for s in (1, -1) for d in (0, 0.5, 0.25, -1)]
    x = np.array(powers, storage)
    width = 64 if "ll" in target else 32
    low, high = (
        (0, 2**width - 1) if target[0] == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    )
    got = call(f"{source}2{target}_{mode}", x).tolist()
    for value, result in zip(x.tolist(), got, strict=True):
        whole = min(max(WHOLE[mode](Fraction(value)), low), high)
        assert result == signed(bits_of(whole, width))


@pytest.mark.parametrize("mode", list(WHOLE))
@pytest.mark.parametrize("target", ["float", "double"])
@pytest.mark.parametrize("source", ["int", "uint", "ll", "ull"])
def test_integer_to_float_in_every_direction(source: str, target: str, mode: str) -> None:
    name = f"{source}2{target}_{mode}"
    if name not in LIBDEVICE:
        assert target == "double" and source in ("int", "uint")
        return
    kind = {"int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}[source]
    digits = 24 if target == "float" else 53
    x = sample(kind, 500)
    for value, result in zip(x.tolist(), call(name, x).tolist(), strict=True):
        drop = max(abs(value).bit_length() - digits, 0)
        assert Fraction(result) == WHOLE[mode](Fraction(value, 1 << drop)) * (1 << drop)


@pytest.mark.parametrize("mode", ["rz", "rd", "ru"])
def test_double_to_float_in_a_direction(mode: str) -> None:
    x = np.array([1 + 2.0**-30, -1 - 2.0**-30, 1e39, -1e39, 1e-46, 0.1])
    down = np.array([1, -1 - 2.0**-23, 3.4028234663852886e38, -np.inf, 0, 0.09999999403953552])
    up = np.array([1 + 2.0**-23, -1, np.inf, -3.4028234663852886e38, 1.401298464324817e-45,
                   0.10000000149011612])  # fmt: skip
    want = {"rd": down, "ru": up, "rz": np.where(x > 0, down, up)}[mode]
    assert call(f"double2float_{mode}", x).astype(np.float64).tolist() == want.tolist()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_remainder_is_exact(kind: str) -> None:
    rng = np.random.default_rng(8)
    storage = format_of(kind).storage
    x = (rng.integers(-60, 60, 4000) / 4).astype(storage)
    y = (rng.integers(-9, 9, 4000) / 4).astype(storage)
    x[:2000] = rng.integers(0, 256, 2000 * storage.itemsize, dtype=np.uint8).view(storage)
    for a, b, r in zip(x.tolist(), y.tolist(), call("remainder", x, y).tolist(), strict=True):
        if not np.isfinite(a) or b == 0:
            assert np.isnan(r)
        else:
            assert r == math.remainder(a, b)
            assert math.copysign(1, r) == math.copysign(1, math.remainder(a, b))


def test_rounding_to_whole_numbers() -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, 0.49999999999999994, -2.5])
    assert call("round", x).tolist() == [1, -1, 2, 3, 0, -3]
    assert call("rint", x).tolist() == [0, 0, 2, 2, 0, -2]
    assert call("llround", x).tolist() == [1, -1, 2, 3, 0, -3]
    assert call("llrint", x).tolist() == [0, 0, 2, 2, 0, -2]
    assert call("llrint", np.array([1e30, -1e30])).tolist() == [2**63 - 1, -(2**63)]


def test_exponents() -> None:
    x = np.array([1.0, 0.75, 1e-45, 0.0, np.inf, np.nan], np.float32)
    least, most = -(2**31), 2**31 - 1
    assert call("ilogb", x).tolist() == [0, -1, -149, least, most, least]
    assert call("logb", x)[:5].tolist() == [0, -1, -149, -np.inf, np.inf]
    assert np.isnan(call("logb", x)[5])
    assert call("ldexp", np.float32(1), np.int32(2**31 - 1)) == np.inf
    assert call("scalbn", np.float64(3), np.int32(-(2**31))) == 0


def test_small_pieces() -> None:
    nan = np.float32(np.nan)
    assert call("saturatef", np.array([nan, -1, 0.25, 7], np.float32)).tolist() == [0, 0, 0.25, 1]
    assert call("fdim", np.float64(3), np.float64(5)) == 0
    assert call("fast_dividef", np.float32(1), np.float32(2.0**127)) == 0
    assert np.isnan(call("fast_powf", np.float32(-2), np.float32(2)))
    assert call("pow", np.float32(-2), np.int32(3)) == -8
    assert call("norm3d", np.float64(1e300), np.float64(1e300), np.float64(0)) == pytest.approx(
        math.sqrt(2) * 1e300
    )
    assert call("rhypot", np.float32(3), np.float32(4)) == np.float32(0.2)
    assert call("sinpi", np.array([1.0, 0.5, -1.5, 1e22])).tolist() == [0, 1, 1, 0]
    assert call("cospi", np.array([1.0, 0.5, 2.0])).tolist() == [-1, 0, 1]


SCIPY = {
    "erf": ("erf", -4, 4), "erfc": ("erfc", -5, 26), "erfcx": ("erfcx", -5, 50),
    "erfinv": ("erfinv", -0.999, 0.999), "erfcinv": ("erfcinv", 0.001, 1.999),
    "normcdf": ("ndtr", -30, 8), "normcdfinv": ("ndtri", 1e-9, 0.999),
    "lgamma": ("gammaln", 0.01, 90), "tgamma": ("gamma", -8.3, 34),
    "cyl_bessel_i0": ("i0", -60, 60), "cyl_bessel_i1": ("i1", -60, 60),
    "exp10": ("exp10", -30, 30), "cbrt": ("cbrt", -9, 9),
}  # fmt: skip
BESSEL = {"j0": "j0", "j1": "j1", "y0": "y0", "y1": "y1"}
NO_SCIPY = "scipy is not installed: the special functions are not compared with it"


@pytest.mark.parametrize("name", list(SCIPY))
def test_special_functions_against_scipy(name: str) -> None:
    scipy_special: Any = pytest.importorskip("scipy.special", reason=NO_SCIPY)
    other, low, high = SCIPY[name]
    x = np.linspace(low, high, 2001)
    with np.errstate(all="ignore"):
        want = getattr(scipy_special, other)(x)
    near_zeros = 2e-15 if name == "lgamma" else 1e-290  # lgamma(1) = lgamma(2) = 0
    np.testing.assert_allclose(call(name, x), want, rtol=2e-13, atol=near_zeros)
    short = x.astype(np.float32)
    with np.errstate(all="ignore"):
        want = getattr(scipy_special, other)(short.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(call(name, short), want, rtol=1.3e-7, atol=1e-38)


@pytest.mark.parametrize("name", list(BESSEL))
def test_bessel_functions_against_scipy(name: str) -> None:
    scipy_special: Any = pytest.importorskip("scipy.special", reason=NO_SCIPY)
    x = np.concatenate([np.linspace(0.01, 80, 3001), 10.0 ** np.linspace(-12, -2, 50)])
    want = getattr(scipy_special, BESSEL[name])(x)
    envelope = np.minimum(1, np.sqrt(2 / np.pi / x))
    error = np.abs(call(name, x) - want) / np.maximum(np.abs(want), envelope)
    assert error.max() < 2e-14
    assert call(name, x.astype(np.float32)).dtype == np.float32


def test_bessel_functions_of_any_order_against_scipy() -> None:
    scipy_special: Any = pytest.importorskip("scipy.special", reason=NO_SCIPY)
    n = np.repeat(np.arange(0, 30, 3, dtype=np.int32), 40)
    x = np.tile(np.linspace(0.5, 60, 40), 10)
    np.testing.assert_allclose(call("jn", n, x), scipy_special.jv(n, x), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(call("yn", n, x), scipy_special.yn(n, x), rtol=1e-9, atol=1e-14)
    assert np.isnan(call("jn", np.int32(-1), np.float64(1)))
    assert call("yn", np.int32(4), np.float64(0)) == -np.inf


def test_special_values() -> None:
    x = np.array([0.0, 1.0, 2.0, np.inf, -np.inf])
    assert call("erfinv", np.array([1.0, -1.0, 0.0])).tolist() == [np.inf, -np.inf, 0]
    assert np.isnan(call("erfinv", np.float64(1.5)))
    assert call("erfcinv", np.array([0.0, 2.0, 1.0])).tolist() == [np.inf, -np.inf, 0]
    assert call("normcdf", x)[[0, 3, 4]].tolist() == [0.5, 1, 0]
    assert call("lgamma", x).tolist() == [np.inf, 0, 0, np.inf, np.inf]
    gamma = call("tgamma", np.array([0.0, -0.0, -3.0, -np.inf, 500.0]))
    assert gamma[[0, 1, 4]].tolist() == [np.inf, -np.inf, np.inf] and np.isnan(gamma[2:4]).all()
    assert call("j0", x)[[0, 3, 4]].tolist() == [1, 0, 0]
    assert call("y0", x)[0] == -np.inf and np.isnan(call("y0", np.float64(-1)))
    assert call("cyl_bessel_i1", x)[[0, 3, 4]].tolist() == [0, np.inf, -np.inf]


def test_float32_results_are_the_rounded_float64_results() -> None:
    x = np.linspace(0.01, 3, 1000).astype(np.float32)
    for name in ("exp", "log", "sin", "tanh", "rsqrt", "log1p", "fast_expf", "erf"):
        wide = call({"fast_expf": "exp"}.get(name, name), x.astype(np.float64))
        assert np.array_equal(call(name, x), wide.astype(np.float32)), name


def test_a_reciprocal_length_past_the_greatest_number_is_subnormal() -> None:
    most = np.finfo(np.float64).max
    found = LIBDEVICE["rhypot"].compute(np.float64(most), np.float64(-most))
    assert found == 3.9334120349784e-309
    assert LIBDEVICE["rnorm3d"].compute(*[np.float64(np.inf)] * 3) == 0


def test_gamma_beside_its_pole_has_the_sign_of_its_side() -> None:
    assert LIBDEVICE["tgamma"].compute(np.float64(-5e-324)) == -np.inf
    assert LIBDEVICE["tgamma"].compute(np.float64(5e-324)) == np.inf


def test_erfcx_keeps_the_low_bits_of_the_square() -> None:
    """Numbers from 60 digits: below 0 it is about 2 exp(x * x)."""
    found = LIBDEVICE["erfcx"].compute(np.array([-16.37117587446163, 1.7976931348623157e308]))
    np.testing.assert_array_max_ulp(
        found, np.array([4.996191418122101e116, 3.138408733985445e-309]), 1
    )


def test_whole_powers_are_repeated_squares() -> None:
    """The 30th power of 0.0528 is subnormal, so that its inverse is infinite."""
    x, n = np.array([3.0, 0.0528, 2.0, -1.5], np.float32), np.array([5, -30, -2, 3], np.int32)
    assert LIBDEVICE["pow"].compute(x, n).tolist() == [243, math.inf, 0.25, -3.375]

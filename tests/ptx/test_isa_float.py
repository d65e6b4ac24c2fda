"""Floating-point arithmetic of PTX against rationals, rounded by searching among all numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blockstep.interp.ptx.isa import Unsupported, form
from blockstep.interp.ptx.isa.registry import WIDTH, unsigned
from tests.ptx.instructions import (
    FLOAT,
    column,
    edges,
    exact,
    is_inf,
    is_nan,
    rounded,
    run,
    run_form,
    written,
)

CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
DIRECTIONS = ("rn", "rz", "rm", "rp")


def infinity(type: str, negative: bool = False) -> int:
    e, m = FLOAT[type]
    return (((1 << e) - 1) << m) | (int(negative) << e + m)


def sign(bits: int, type: str) -> int:
    return bits >> WIDTH[type] - 1


def zero(type: str, negative: int) -> int:
    return negative << WIDTH[type] - 1


class Oracle:
    """One operation on bits: IEEE 754 for zeros, infinities and NaN, rationals for the rest."""

    def __init__(self, type: str, direction: str) -> None:
        self.type, self.direction = type, direction

    def of(self, x: Fraction, negative_zero: int) -> int:
        return rounded(x, self.type, self.direction) if x else zero(self.type, negative_zero)

    def add(self, a: int, b: int) -> int | None:
        t = self.type
        if is_inf(a, t) or is_inf(b, t):
            if is_inf(a, t) and is_inf(b, t) and a != b:
                return None
            return a if is_inf(a, t) else b
        return self._sum(exact(a, t) + exact(b, t), sign(a, t), sign(b, t), a, b)

    def _sum(self, total: Fraction, sign_a: int, sign_b: int, *terms: int) -> int:
        negative = sign_a if sign_a == sign_b else int(self.direction == "rm")
        return self.of(total, negative)

    def sub(self, a: int, b: int) -> int | None:
        return self.add(a, b ^ zero(self.type, 1))

    def mul(self, a: int, b: int) -> int | None:
        t, negative = self.type, sign(a, self.type) ^ sign(b, self.type)
        if is_inf(a, t) or is_inf(b, t):
            other = b if is_inf(a, t) else a
            return (
                None
                if not is_inf(other, t) and exact(other, t) == 0
                else infinity(t, bool(negative))
            )
        return self.of(exact(a, t) * exact(b, t), negative)

    def div(self, a: int, b: int) -> int | None:
        t, negative = self.type, sign(a, self.type) ^ sign(b, self.type)
        if is_inf(a, t):
            return None if is_inf(b, t) else infinity(t, bool(negative))
        if is_inf(b, t):
            return zero(t, negative)
        if exact(b, t) == 0:
            return None if exact(a, t) == 0 else infinity(t, bool(negative))
        return self.of(exact(a, t) / exact(b, t), negative)

    def rcp(self, a: int) -> int | None:
        return self.div(rounded(Fraction(1), self.type, "rn"), a)

    def fma(self, a: int, b: int, c: int) -> int | None:
        t, negative = self.type, sign(a, self.type) ^ sign(b, self.type)
        if is_inf(a, t) or is_inf(b, t):
            product = self.mul(a, b)
            return None if product is None else self.add(product, c)
        if is_inf(c, t):
            return c
        return self._sum(exact(a, t) * exact(b, t) + exact(c, t), negative, sign(c, t))

    def sqrt(self, a: int) -> int | None:
        t = self.type
        if sign(a, t) and (is_inf(a, t) or exact(a, t)):
            return None
        if is_inf(a, t) or exact(a, t) == 0:
            return a
        x = exact(a, t)
        scaled = x * 4**700  # far more than the format needs
        root = math.isqrt(scaled.numerator // scaled.denominator)
        odd = 2 * root + (root * root != scaled)
        return self.of(Fraction(odd, 2 << 700), 0)

    def __call__(self, name: str, *operands: int) -> int | None:
        """The bits, or None for NaN."""
        if any(is_nan(x, self.type) for x in operands):
            return None
        result: int | None = getattr(self, name)(*operands)
        return result


def check(
    name: str, type: str, direction: str, columns: list[list[int]], modifiers: str = ""
) -> None:
    """The instruction gives the bits of the oracle, and a NaN where that has one."""
    oracle = Oracle(type, direction)
    got = run(f"{name}.{direction}{modifiers}.{type}", *columns)
    for result, *operands in zip(got, *columns, strict=True):
        want = oracle(name, *operands)
        if want is None:
            assert is_nan(result, type), (name, [hex(x) for x in operands], hex(result))
            assert result == CANONICAL.get(type, result)
        else:
            assert result == want, (name, [hex(x) for x in operands], hex(result), hex(want))


def special(type: str) -> list[int]:
    """Zeros, subnormals, the ends of the range, ones, infinities, NaN: of both signs."""
    e, m = FLOAT[type]
    top = (1 << e) - 1
    one = (top >> 1) << m
    sizes = [
        0,
        1,
        2,
        3,
        (1 << m) - 1,
        1 << m,
        (1 << m) + 1,
        one - 1,
        one,
        one + 1,
        one + (1 << m - 1),
    ]
    sizes += [(top << m) - 1, (top - 1) << m, top << m, (top << m) + 1, (top << m) | 1 << m - 1]
    return [s | k << e + m for s in sizes for k in (0, 1)]


def random_pairs(type: str, count: int, seed: int) -> list[list[int]]:
    """Random bits, and pairs whose exponents are near each other, where sums round."""
    random = np.random.default_rng(seed)
    width, (_, m) = WIDTH[type], FLOAT[type]
    a = random.integers(1 << width - 1, size=count, dtype=np.uint64)
    a |= random.integers(2, size=count, dtype=np.uint64) << np.uint64(width - 1)
    near = a + (random.integers(-m - 3, m + 3, size=count).astype(np.int64) << m).view(np.uint64)
    near ^= random.integers(1 << m, size=count, dtype=np.uint64)
    b = np.where(np.arange(count) % 3 == 0, random.permutation(a), near)
    return [a.tolist(), (b & np.uint64((1 << width) - 1)).tolist()]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", ("add", "sub", "mul", "div"))
def test_f32_is_rounded_in_every_direction(name: str, direction: str) -> None:
    few = special("f32")
    a, b = random_pairs("f32", 3000, 1)
    columns = [[x for x in few for _ in few] + a, few * len(few) + b]
    check(name, "f32", direction, columns)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", ("sqrt", "rcp"))
def test_roots_and_reciprocals_of_f32(name: str, direction: str) -> None:
    a, _ = random_pairs("f32", 3000, 2)
    check(name, "f32", direction, [special("f32") + a])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", ("add", "mul", "div"))
def test_f64_is_rounded_in_every_direction(name: str, direction: str) -> None:
    few = special("f64")[::2]
    a, b = random_pairs("f64", 400, 3)
    check(name, "f64", direction, [[x for x in few for _ in few] + a, few * len(few) + b])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_roots_of_f64(direction: str) -> None:
    a, _ = random_pairs("f64", 200, 2)
    check("sqrt", "f64", direction, [special("f64") + a])
    check("rcp", "f64", direction, [special("f64") + a])


def _halfway(type: str, count: int) -> list[list[int]]:
    """a · b + c at, and just beside, halfway between two numbers."""
    random = np.random.default_rng(7)
    _, m = FLOAT[type]
    columns: list[list[int]] = [[], [], []]
    while len(columns[0]) < count:
        a = Fraction(int(random.integers(1 << m, 2 << m))) / (1 << m)
        scale = Fraction(2) ** int(random.integers(-30, 30))
        tiny = Fraction(2) ** int(random.integers(-70, -m - 3))
        c = Fraction(int(random.integers(1 << m, 2 << m))) * scale
        b = scale / 2 * (1 + int(random.integers(-1, 2)) * tiny)
        bits = [rounded(x, type, "rn") for x in (a if random.integers(2) else Fraction(1), b, c)]
        for k in range(3):
            columns[k].append(bits[k])
    return columns


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_f32_fma_is_rounded_once(direction: str) -> None:
    few = special("f32")[::3]
    cube = [(a, b, c) for a in few for b in few for c in few]
    a, b = random_pairs("f32", 4000, 4)
    _, c = random_pairs("f32", 4000, 5)
    product = run("mul.rn.f32", a, b)
    c = [
        p ^ 1 << 31 ^ (k & 3) if k % 2 else x
        for k, (p, x) in enumerate(zip(product, c, strict=True))
    ]
    for columns in ([*map(list, zip(*cube, strict=True))], [a, b, c], _halfway("f32", 3000)):
        check("fma", "f32", direction, columns)


def test_f32_fma_of_products_that_nearly_reach_halfway() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: halfway in f32; a tail of 2^-80 decides, and is lost in f64.
    a = column([1 + 2.0**-12], "f32")
    for tail, want in ((2.0**-80, 1 + 2.0**-11 + 2.0**-23), (-(2.0**-80), 1 + 2.0**-11)):
        assert run("fma.rn.f32", a, a, column([tail], "f32")) == column([want], "f32")


def test_f64_fma_is_rounded_once() -> None:
    few = special("f64")[::3]
    cube = [(a, b, c) for a in few for b in few for c in few]
    a, b = random_pairs("f64", 2500, 4)
    product = run("mul.rn.f64", a, b)
    c = [p ^ 1 << 63 ^ (k & 3) for k, p in enumerate(product)]
    random = np.random.default_rng(0)
    ordinary = [column(random.standard_normal(2500) * 2.0 ** random.integers(-60, 60, 2500), "f64")
                for _ in range(3)]  # fmt: skip
    for columns in (
        [*map(list, zip(*cube, strict=True))],
        [a, b, c],
        ordinary,
        _halfway("f64", 2500),
    ):
        check("fma", "f64", "rn", columns)
    for direction in ("rz", "rm", "rp"):
        check("fma", "f64", direction, [x[:300] for x in ordinary])
        check("fma", "f64", direction, [x[:300] for x in (a, b, c)])


@given(*[st.integers(0, 2**64 - 1)] * 3)
@settings(max_examples=150, deadline=None)
@example(0x3FF0000000000001, 0x3FF0000000000001, 0xBFF0000000000002)
@example(0x0010000000000000, 0x3FE0000000000000, 0x0000000000000001)
def test_f64_fma_of_any_bits(a: int, b: int, c: int) -> None:
    check("fma", "f64", "rn", [[a], [b], [c]])


def _half_pairs(type: str) -> list[list[int]]:
    """Every number with a few others, among them its neighbours and random ones."""
    every = list(range(1 << 16))
    random = np.random.default_rng(3)
    few = special(type)[::2]
    a = every * 2 + [x for x in few for _ in few]
    b = random.permutation(1 << 16).tolist() + [(x * 0x9E37 + 0x79B9) & 0xFFFF for x in every]
    return [a, b + few * len(few)]


def _exactly(operation: Callable[..., Any], type: str, *columns: list[int]) -> Any:
    """f64 results are exact for sums and products of halves; f16 and bf16 numbers for the rest
    are found by comparing with the middle between neighbours, all of them in a table."""
    numbers = _table(type)
    values = operation(*(numbers[c] for c in columns))
    return _nearest(values, type)


def _table(type: str) -> Any:
    every = np.arange(1 << 16, dtype=np.uint16)
    if type == "f16":
        return every.view(np.float16).astype(np.float64)
    return (every.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _nearest(values: Any, type: str) -> Any:
    e, m = FLOAT[type]
    infinite = ((1 << e) - 1) << m
    sizes = _table(type)[:infinite]
    middles = (sizes[1:] + sizes[:-1]) / 2
    middles = np.append(middles, sizes[-1] + (sizes[-1] - sizes[-2]) / 2)
    low, high = (np.searchsorted(middles, np.abs(values), side) for side in ("left", "right"))
    code = np.where(low == high, low, np.where(low % 2 == 0, low, high))  # a tie goes to even
    code = np.where(np.isnan(values), 0x7FFF, code | (np.signbit(values) << 15))
    return code.tolist()


@pytest.mark.parametrize("type", ("f16", "bf16"))
@pytest.mark.parametrize(("name", "operation"), (
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
))  # fmt: skip
def test_halves_are_rounded_once(type: str, name: str, operation: Callable[..., Any]) -> None:
    a, b = _half_pairs(type)
    with np.errstate(all="ignore"):
        want = _exactly(operation, type, a, b)
    assert run(f"{name}.{type}", a, b) == want
    assert run(f"{name}.rn.{type}", a, b) == want
    pair = [x | y << 16 for x, y in zip(a, b, strict=True)]
    swapped = [y | x << 16 for x, y in zip(a, b, strict=True)]
    high = run(f"{name}.{type}", b, a)
    assert run(f"{name}.{type}x2", pair, swapped) == [
        x | y << 16 for x, y in zip(want, high, strict=True)
    ]


@pytest.mark.parametrize("type", ("f16", "bf16"))
def test_fma_of_halves_is_rounded_once(type: str) -> None:
    few = special(type)[::3]
    cube = [*map(list, zip(*[(a, b, c) for a in few for b in few for c in few], strict=True))]
    a, b = random_pairs(type, 2500, 4)
    product = run(f"mul.{type}", a, b)
    c = [(p ^ 1 << 15) + (k % 5) - 2 & 0xFFFF for k, p in enumerate(product)]
    for columns in (cube, [a, b, c], _halfway(type, 2500)):
        check("fma", type, "rn", columns)


def test_double_rounding_does_not_reach_halves() -> None:
    # Found wrong when bf16's fused sum was rounded to f32 first: 1 · 1.0078125 + 2^-40 · 1.
    one, tie, tail = 0x3F80, 0x3F81, rounded(Fraction(2) ** -9 + Fraction(2) ** -16, "bf16", "rn")
    check("fma", "bf16", "rn", [[one], [tail], [tie]])
    half = rounded(Fraction(1, 256), "bf16", "rn")
    tiny = rounded(Fraction(2) ** -60, "bf16", "rn")
    got = run("fma.rn.bf16", [half], [one], [tie])
    assert got == [0x3F82]  # a tie to even: up
    assert run("fma.rn.bf16", [half], [one], [one]) == [0x3F80]  # a tie to even: down
    assert tiny and run("fma.rn.bf16", [tiny], [one], [one]) == [0x3F80]


@pytest.mark.parametrize("type", ("f32", "f16"))
def test_flushing_takes_subnormal_operands_and_results_to_zero(type: str) -> None:
    e, m = FLOAT[type]
    smallest, subnormal = 1 << m, (1 << m) - 1
    negative = 1 << e + m
    half = rounded(Fraction(1, 2), type, "rn")
    name = {"f32": "mul.rn.ftz.f32", "f16": "mul.ftz.f16"}[type]
    plain = name.replace(".ftz", "")
    assert run(name, [subnormal, smallest, smallest | negative], [half, half, half]) == [
        0,
        0,
        negative,
    ]
    assert run(plain, [smallest], [half]) == [smallest >> 1]
    add = {"f32": "add.ftz.f32", "f16": "add.ftz.f16"}[type]
    assert run(add, [subnormal, subnormal | negative], [subnormal, subnormal | negative]) == [
        0,
        negative,
    ]
    assert run(add, [smallest], [subnormal]) == [smallest]


@pytest.mark.parametrize("type", ("f32", "f16"))
def test_saturation_ends_at_zero_and_one(type: str) -> None:
    one = rounded(Fraction(1), type, "rn")
    half = rounded(Fraction(1, 2), type, "rn")
    negative = zero(type, 1)
    a = [
        one,
        half,
        one | negative,
        infinity(type),
        infinity(type, True),
        infinity(type) + 1,
        negative,
    ]
    b = [one, half, half, 0, 0, 0, negative]
    assert run(f"add.sat.{type}", a, b) == [one, one, 0, one, 0, 0, 0]


def test_relu_clamps_what_is_negative_and_keeps_nan() -> None:
    one, minus = 0x3C00, 0xBC00
    got = run("fma.rn.relu.f16", [one, minus, 0x8000, 0x7E00], [one] * 4, [0, 0, 0x8000, 0])
    assert got == [one, 0, 0, 0x7FFF]


def _ordered(bits: int, type: str) -> int:
    """Finite and infinite numbers in order, -0 before +0."""
    return -1 - (bits & ~zero(type, 1)) if sign(bits, type) else bits


@pytest.mark.parametrize("type", ("f32", "f64", "f16", "bf16"))
@pytest.mark.parametrize("name", ("min", "max"))
def test_extremes_order_zeros_and_pass_over_nan(name: str, type: str) -> None:
    few = special(type)
    a, b = [x for x in few for _ in few], few * len(few)
    choose = min if name == "min" else max

    def want(x: int, y: int) -> int | None:
        numbers = [v for v in (x, y) if not is_nan(v, type)]
        return choose(numbers, key=lambda v: _ordered(v, type)) if numbers else None

    _same(run(f"{name}.{type}", a, b), [want(x, y) for x, y in zip(a, b, strict=True)], type)
    if type == "f64":
        return
    strict = [
        None if is_nan(x, type) or is_nan(y, type) else want(x, y)
        for x, y in zip(a, b, strict=True)
    ]
    _same(run(f"{name}.NaN.{type}", a, b), strict, type)
    size = (1 << WIDTH[type] - 1) - 1
    by_size: list[int | None] = []
    for x, y in zip(a, b, strict=True):
        chosen = want(x & size, y & size)
        by_size.append(None if chosen is None else chosen | (x ^ y) & ~size)
    _same(run(f"{name}.xorsign.abs.{type}", a, b), by_size, type)


def _same(got: list[int], want: list[int | None], type: str) -> None:
    for g, w in zip(got, want, strict=True):
        assert is_nan(g, type) if w is None else g == w, (hex(g), w)


def test_extremes_of_three() -> None:
    one, two, three, nan = column([1.0, 2.0, -3.0, math.nan], "f32")
    assert run("max.f32", [one], [nan], [two]) == [two]
    assert run("min.f32", [one], [nan], [three]) == [three]
    assert run("min.abs.f32", [one | 1 << 31], [two], [three]) == [one]
    assert run("max.NaN.f32", [one], [nan], [two]) == [0x7FFFFFFF]


@pytest.mark.parametrize("type", ("f32", "f64", "f16", "bf16"))
def test_signs_are_bits(type: str) -> None:
    a = edges(WIDTH[type])
    top = zero(type, 1)
    assert run(f"abs.{type}", a) == [x & ~top for x in a]
    assert run(f"neg.{type}", a) == [x ^ top for x in a]
    if type in ("f32", "f64"):
        b = a[::-1]
        assert run(f"copysign.{type}", a, b) == [
            x & top | y & ~top for x, y in zip(a, b, strict=True)
        ]
    else:
        pair = [x | y << 16 for x, y in zip(a, a[::-1], strict=True)]
        assert run(f"neg.{type}x2", pair) == [x ^ 0x80008000 for x in pair]
        assert run(f"abs.{type}x2", pair) == [x & 0x7FFF7FFF for x in pair]


def test_flushed_sizes() -> None:
    assert run("abs.ftz.f32", [0x80000001, 0x80800000]) == [0, 0x00800000]
    assert run("neg.ftz.f16x2", [0x0001_BC00]) == [0x8000_3C00]


@pytest.mark.parametrize("type", ("f32", "f64"))
def test_properties_of_numbers(type: str) -> None:
    few = special(type)
    e, m = FLOAT[type]

    def kind(x: int) -> str:
        if is_nan(x, type) or is_inf(x, type):
            return "nan" if is_nan(x, type) else "inf"
        return "subnormal" if 0 < x & zero(type, 1) - 1 < 1 << m else "normal"

    holds = {
        "finite": ("normal", "subnormal"), "infinite": ("inf",), "notanumber": ("nan",),
        "number": ("normal", "subnormal", "inf"), "normal": ("normal",), "subnormal": ("subnormal",),
    }  # fmt: skip
    for name, kinds in holds.items():
        assert run(f"testp.{name}.{type}", few) == [kind(x) in kinds for x in few]


def test_two_f32_in_one_register() -> None:
    a, b = random_pairs("f32", 600, 9)
    c, d = random_pairs("f32", 600, 10)
    pair = [[x | y << 32 for x, y in zip(*two, strict=True)] for two in ((a, b), (c, d))]
    want = [
        x | y << 32 for x, y in zip(run("add.rz.f32", a, c), run("add.rz.f32", b, d), strict=True)
    ]
    assert run("add.rz.f32x2", *pair) == want


def test_operands_of_different_shapes_are_broadcast() -> None:
    f = form(written("fma.rn.f16x2", 3))
    a = np.full((3, 1), 0x3C004000, np.uint32)
    b = np.arange(4, dtype=np.uint32)[None] | 0x44000000
    got = f.compute(a, b, np.zeros((1, 1), np.uint32))
    assert got.shape == (3, 4)
    assert (
        got == f.compute(*(np.broadcast_to(x, (3, 4)) for x in (a, b, np.zeros((1, 1), np.uint32))))
    ).all()


def test_half_registers_may_be_strided() -> None:
    f = form(written("add.f16x2"))
    rows = np.arange(24, dtype=np.uint32).reshape(2, 4, 3) * 0x01010101
    x, y = rows[..., 0], rows[..., 1]
    assert (f.compute(x, y) == f.compute(x.copy(), y.copy())).all()
    assert run_form(form(written("add.f32")), [0x3F800000], [0x3F800000]) == [0x40000000]
    assert unsigned("f16x2") is np.uint32


@pytest.mark.parametrize("name", ("fma.f32", "add.rz.f16", "add.ftz.f64", "mul.sat.f64", "div.f32",
                                  "div.rn.f16", "sqrt.f32", "add.relu.f16", "fma.rn.relu.f32",
                                  "add.ftz.bf16", "add.sat.bf16", "min.NaN.f64", "min.abs.f32",
                                  "mul.f32.f16", "fma.rn.oob.f16", "add.rna.f32", "testp.odd.f32",
                                  "min.xorsign.f32", "mad.rn.f16", "abs.f32x2"))  # fmt: skip
def test_forms_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(written(name))


def test_halves_may_be_added_to_f32() -> None:
    one_half, two = column([0.5, 2.0], "f32")
    assert run("add.f32.f16", [0x3C00, 0x7E00], [one_half] * 2) == [
        *column([1.5], "f32"),
        0x7FFFFFFF,
    ]
    assert run("sub.rz.f32.bf16", [0x3F80], [two]) == column([-1.0], "f32")
    assert run("fma.rn.sat.f32.f16", [0x3C00], [0x4000], [one_half]) == column([1.0], "f32")
    assert run("fma.rn.f32.bf16", [0x3F80], [0x4000], [one_half]) == column([2.5], "f32")

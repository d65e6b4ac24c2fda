"""The approximate instructions: correctly rounded, by arithmetic with fifty digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from blockstep.interp.ptx.isa import Unsupported, form
from blockstep.interp.ptx.isa.approx import BOUNDS
from blockstep.interp.ptx.isa.registry import WIDTH
from tests.ptx.instructions import column, exact, is_nan, rounded, run, written

LN2 = "0.693147180559945309417232121458176568075500134360255254120680009493393621969694716"


def _ex2(x: Decimal) -> Decimal:
    return (x * Decimal(LN2)).exp()


def _lg2(x: Decimal) -> Decimal:
    return x.ln() / Decimal(LN2)


def _tanh(x: Decimal) -> Decimal:
    grown = (2 * x).exp()
    return (grown - 1) / (grown + 1)


def _series(x: Decimal, first: int) -> Decimal:
    """Σ (-1)^k x^(2k + first) / (2k + first)!: the sine (1) or the cosine (0)."""
    total, term, k = Decimal(0), x if first else Decimal(1), first
    while abs(term) > Decimal(10) ** -60:
        total += term
        term = -term * x * x / ((k + 1) * (k + 2))
        k += 2
    return total


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "ex2": _ex2,
    "lg2": _lg2,
    "tanh": _tanh,
    "sin": lambda x: _series(x, 1),
    "cos": lambda x: _series(x, 0),
    "rsqrt": lambda x: 1 / x.sqrt(),
    "sqrt": lambda x: x.sqrt(),
    "rcp": lambda x: 1 / x,
}


def value(name: str, x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 110
        return Fraction(EXACT[name](Decimal(x.numerator) / Decimal(x.denominator)))


def arguments(name: str, type: str) -> Any:
    """Numbers of the format where the function is ordinary."""
    random = np.random.default_rng(6)
    if name in ("lg2", "rsqrt", "sqrt", "rcp"):
        values = 2.0 ** random.uniform(-30, 30, 250)
        values = np.append(values, 1 + random.standard_normal(50) * 1e-3)
    else:
        reach = {"ex2": 12.0, "tanh": 4.0}.get(name, 60.0)
        values = random.uniform(-reach, reach, 250)
        values = np.append(values, random.standard_normal(50) * 2.0**-8)
    if type in ("f16", "bf16"):
        return [rounded(Fraction(v), type, "rn") for v in values.tolist()]
    return column(values.tolist(), type)


@pytest.mark.parametrize("name", EXACT)
def test_f32_is_correctly_rounded(name: str) -> None:
    a = arguments(name, "f32")
    want = [rounded(value(name, exact(x, "f32")), "f32", "rn") for x in a]
    assert run(f"{name}.approx.f32", a) == want


@pytest.mark.parametrize("name", ("ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16",
                                  "tanh.approx.bf16"))  # fmt: skip
def test_halves_are_correctly_rounded(name: str) -> None:
    type = name.rsplit(".", 1)[1]
    a = arguments(name.split(".")[0], type)
    want = [rounded(value(name.split(".")[0], exact(x, type)), type, "rn") for x in a]
    assert run(name, a) == want
    pair = [x << 16 | y for x, y in zip(a, a[::-1], strict=True)]
    both = [x << 16 | y for x, y in zip(want, want[::-1], strict=True)]
    assert run(f"{name}x2", pair) == both


INF, NAN = math.inf, math.nan
# From the tables of the manual: -inf, -1, -0, +0, +inf, NaN.
CORNERS = {
    "ex2": (0.0, 0.5, 1.0, 1.0, INF, NAN), "lg2": (NAN, NAN, -INF, -INF, INF, NAN),
    "sin": (NAN, None, -0.0, 0.0, NAN, NAN), "cos": (NAN, None, 1.0, 1.0, NAN, NAN),
    "tanh": (-1.0, None, -0.0, 0.0, 1.0, NAN), "rsqrt": (NAN, NAN, -INF, INF, 0.0, NAN),
    "sqrt": (NAN, NAN, -0.0, 0.0, INF, NAN), "rcp": (-0.0, -1.0, -INF, INF, 0.0, NAN),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_corners_are_those_of_the_manual(name: str) -> None:
    a = column([-INF, -1.0, -0.0, 0.0, INF, NAN], "f32")
    for got, want in zip(run(f"{name}.approx.f32", a), CORNERS[name], strict=True):
        if want is not None and math.isnan(want):
            assert got == 0x7FFFFFFF
        elif want is not None:
            assert got == column([want], "f32")[0]


def test_flushing() -> None:
    tiny = column([2.0**-140, -(2.0**-140)], "f32")
    assert run("rcp.approx.ftz.f32", tiny) == column([INF, -INF], "f32")
    assert run("lg2.approx.ftz.f32", tiny) == column([-INF, -INF], "f32")
    assert run("sin.approx.ftz.f32", tiny) == [0, 1 << 31]
    low = column([-130.0], "f32")
    assert run("ex2.approx.f32", low) == column([2.0**-130], "f32")
    assert run("ex2.approx.ftz.f32", low) == [0]


def test_quotients() -> None:
    a = arguments("sin", "f32")
    b = arguments("rcp", "f32")
    want = [
        rounded(exact(x, "f32") / exact(y, "f32"), "f32", "rn") for x, y in zip(a, b, strict=True)
    ]
    assert run("div.full.f32", a, b) == run("div.approx.f32", a, b) == want
    huge = column([2.0**127, -(2.0**127)] * 2, "f32")
    over = column([2.0**120] * 2 + [INF] * 2, "f32")
    got = run("div.approx.f32", over, huge)
    assert got[:2] == [0, 1 << 31] and all(is_nan(x, "f32") for x in got[2:])
    assert run("div.full.f32", over[:1], huge[:1]) == column([2.0**-7], "f32")
    assert run("div.approx.f32", over[:1], column([2.0**126], "f32")) == column([2.0**-6], "f32")


@pytest.mark.parametrize(("name", "power"), (("rcp", -1.0), ("rsqrt", -0.5)))
def test_gross_f64_keeps_twenty_bits(name: str, power: float) -> None:
    a = arguments("rcp", "f64")
    for x, got in zip(a, run(f"{name}.approx.ftz.f64", a), strict=True):
        assert got & 0xFFFFFFFF == 0
        true = float(exact(x >> 32 << 32, "f64")) ** power
        assert abs(float(exact(got, "f64")) / true - 1) <= 2.0**-20
    assert run(f"{name}.approx.ftz.f64", [1]) == column([INF], "f64")
    assert run(f"{name}.approx.ftz.f64", column([NAN], "f64")) == [0x7FFFFFFF00000000]


def test_every_bound_is_one_of_an_instruction_that_is_there() -> None:
    for (name, type), bounds in BOUNDS.items():
        sources = 2 if name.startswith("div") else 1
        flush = ".ftz" if (name, type) == ("ex2.approx", "bf16") else ""
        assert form(written(f"{name}{flush}.{type}", sources)).results == (type,)
        assert bounds and all(b.most > 0 and b.inside[0] < b.inside[1] for b in bounds)
        assert WIDTH[type] >= 16


@pytest.mark.parametrize("name", ("ex2.f32", "ex2.approx.bf16", "ex2.approx.ftz.f16",
                                  "tanh.approx.ftz.f32", "sin.approx.f16", "rcp.approx.f64",
                                  "sqrt.approx.f64", "div.approx.f64", "lg2.approx.f64",
                                  "tanh.approx.f64", "div.full.rn.f32"))  # fmt: skip
def test_forms_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(written(name, 1))

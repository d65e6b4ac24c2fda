"""Comparisons and selection of PTX."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blockstep.interp.ptx.isa import Unsupported, form
from blockstep.interp.ptx.isa.registry import WIDTH
from tests.ptx.instructions import column, exact, is_inf, is_nan, pairs, run, seen, written

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@pytest.mark.parametrize("type", ("u16", "s16", "u32", "s32", "u64", "s64", "b16", "b32", "b64"))
def test_integers_are_compared_as_their_type_says(type: str) -> None:
    a, b = pairs(WIDTH[type], 1000)
    b = [x if k % 3 == 0 else y for k, (x, y) in enumerate(zip(a, b, strict=True))]
    numbers = [(seen(x, type), seen(y, type)) for x, y in zip(a, b, strict=True)]
    for name, holds in ORDER.items():
        if type[0] != "b" or name in ("eq", "ne"):
            assert run(f"setp.{name}.{type}", a, b) == [holds(*n) for n in numbers]
    for name, same in UNSIGNED.items():
        if type[0] == "u":
            assert run(f"setp.{name}.{type}", a, b) == [ORDER[same](*n) for n in numbers]


def special(type: str) -> Any:
    """Numbers of both signs, zeros, subnormals, infinities and NaN."""
    if type in ("f32", "f64"):
        values = [0.0, 1.0, 1.5, 2.0**-130, 2.0**-149, 3e38, np.inf, np.nan]
        return column([s * v for v in values for s in (1, -1)], type)
    top = 0x7C00 if type == "f16" else 0x7F80
    return [s | v for v in (0, 1, 3, 0x3C00, 0x4000, top - 1, top, top + 1) for s in (0, 0x8000)]


def _value(bits: int, type: str) -> Any:
    if is_inf(bits, type):
        return float("-inf") if bits >> WIDTH[type] - 1 else float("inf")
    return exact(bits, type)


@pytest.mark.parametrize("type", ("f16", "bf16", "f32", "f64"))
def test_floats_are_compared_ordered_and_unordered(type: str) -> None:
    few = special(type)
    a, b = [x for x in few for _ in few], few * len(few)
    either = [is_nan(x, type) or is_nan(y, type) for x, y in zip(a, b, strict=True)]
    for name, holds in ORDER.items():
        ordered = [
            not nan and holds(_value(x, type), _value(y, type))
            for x, y, nan in zip(a, b, either, strict=True)
        ]
        assert run(f"setp.{name}.{type}", a, b) == ordered
        unordered = [o or nan for o, nan in zip(ordered, either, strict=True)]
        assert run(f"setp.{name}u.{type}", a, b) == unordered
    assert run(f"setp.nan.{type}", a, b) == either
    assert run(f"setp.num.{type}", a, b) == [not e for e in either]


def test_flushed_operands_are_equal_to_zero() -> None:
    assert run("setp.eq.f32", [1], [0]) == [False]
    assert run("setp.eq.ftz.f32", [1], [0x80000002]) == [True]
    assert run("setp.lt.ftz.f16", [0x8001], [0]) == [False]


@pytest.mark.parametrize("join", ("and", "or", "xor"))
def test_the_second_predicate_joins_the_opposite(join: str) -> None:
    a, b, c = [1, 1, 2, 2], [2, 2, 1, 1], [0, 1, 0, 1]
    combine = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[join]
    p, q = run(f"setp.lt.{join}.s32", a, b, c, results=2)
    less = [True, True, False, False]
    assert p == [combine(t, bool(x)) for t, x in zip(less, c, strict=True)]
    assert q == [combine(not t, bool(x)) for t, x in zip(less, c, strict=True)]
    assert run(f"setp.lt.{join}.s32", a, b, c) == p
    p, q = run("setp.eq.s32", a, b, results=2)
    assert (p, q) == ([False] * 4, [True] * 4)


def test_the_opposite_of_an_ordered_comparison_holds_for_nan() -> None:
    p, q = run("setp.lt.f32", [0x7FC00000], [0], results=2)
    assert (p, q) == ([False], [True])


def test_halves_of_a_register_are_compared_apart() -> None:
    p, q = run("setp.lt.f16x2", [0x3C00_0000], [0x0000_3C00], results=2)  # lower, upper
    assert (p, q) == ([True], [False])
    p, q = run("setp.gt.and.bf16x2", [0x3F80_3F80], [0], [1], results=2)
    assert (p, q) == ([True], [True])


def test_set_writes_all_bits_or_one() -> None:
    a, b = [1, 2], [2, 1]
    assert run("set.lt.u32.s32", a, b) == [0xFFFFFFFF, 0]
    assert run("set.lt.f32.s32", a, b) == [0x3F800000, 0]
    assert run("set.lt.and.s32.u32", a, b, [0, 1]) == [0, 0]
    assert run("set.gt.xor.u32.u32", a, b, [1, 1]) == [0xFFFFFFFF, 0]
    assert run("set.nan.u32.f32", [0x7FC00000], [0]) == [0xFFFFFFFF]
    assert run("set.lt.f16x2.f16x2", [0x3C00_0000], [0x0000_3C00]) == [0x3C00]
    assert run("set.eq.bf16x2.bf16x2", [0x3C00_0000], [0x3C00_3C00]) == [0x3F80_0000]
    assert run("set.gt.u32.f16x2", [0x3C00_0000], [0x0000_3C00]) == [0xFFFF_0000]


def test_selection() -> None:
    assert run("selp.b32", [1, 2], [3, 4], [1, 0]) == [1, 4]
    assert run("selp.f64", [1, 2], [3, 4], [0, 1]) == [3, 2]
    assert run("slct.u32.s32", [1, 1, 1], [2, 2, 2], [0, 5, 2**31]) == [1, 1, 2]
    c = column([0.0, -0.0, 1.0, -1.0, float("nan"), -(2.0**-149)], "f32")
    assert run("slct.b64.f32", [1] * 6, [2] * 6, c) == [1, 1, 1, 2, 2, 2]
    assert run("slct.ftz.b64.f32", [1] * 6, [2] * 6, c) == [1, 1, 1, 2, 2, 1]


@pytest.mark.parametrize("name", ("setp.lt.b32", "setp.equ.s32", "setp.lo.s32", "setp.lo.f32",
                                  "setp.lt.ftz.s32", "setp.lt.ftz.f64", "setp.lt.nand.s32",
                                  "setp.s32", "selp.f16", "slct.u32.u32", "set.lt.f16x2.f32",
                                  "set.lt.f64.f32"))  # fmt: skip
def test_forms_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(written(name))


def test_one_predicate_of_two_halves_is_that_of_the_lower() -> None:
    assert run("setp.eq.f16x2", [0x3C00_0000], [0]) == [True]
    assert run("set.eq.and.f16x2.f16x2", [0x3C00_0000] * 2, [0] * 2, [0, 1]) == [0, 0x3C00]

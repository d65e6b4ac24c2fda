"""Integer arithmetic of PTX against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from blockstep.interp.ptx.isa import Unsupported, form
from blockstep.interp.ptx.isa.registry import WIDTH
from tests.ptx.instructions import edges, pairs, run, seen, signed, written

WORDS = ("u16", "s16", "u32", "s32", "u64", "s64")


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1


def _rest(a: int, b: int) -> int:
    return a - _quotient(a, b) * b if b else -1


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "div": _quotient,
    "rem": _rest,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("type", WORDS)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_give_what_integers_give(name: str, type: str) -> None:
    a, b = pairs(WIDTH[type])
    mask = (1 << WIDTH[type]) - 1
    want = [BINARY[name](seen(x, type), seen(y, type)) & mask for x, y in zip(a, b, strict=True)]
    assert run(f"{name}.{type}", a, b) == want


@pytest.mark.parametrize("type", WORDS)
def test_the_upper_half_and_the_whole_of_a_product(type: str) -> None:
    a, b = pairs(WIDTH[type])
    width = WIDTH[type]
    exact = [seen(x, type) * seen(y, type) for x, y in zip(a, b, strict=True)]
    assert run(f"mul.hi.{type}", a, b) == [p >> width & (1 << width) - 1 for p in exact]
    if width < 64:
        assert run(f"mul.wide.{type}", a, b) == [p & (1 << 2 * width) - 1 for p in exact]


@pytest.mark.parametrize("type", WORDS)
def test_multiply_and_add(type: str) -> None:
    width = WIDTH[type]
    a, b = pairs(width)
    c, _ = pairs(width, seed=2)
    exact = [seen(x, type) * seen(y, type) for x, y in zip(a, b, strict=True)]
    mask = (1 << width) - 1
    assert run(f"mad.lo.{type}", a, b, c) == [p + z & mask for p, z in zip(exact, c, strict=True)]
    assert run(f"mad.hi.{type}", a, b, c) == [
        (p >> width) + z & mask for p, z in zip(exact, c, strict=True)
    ]
    if width < 64:
        wide, _ = pairs(2 * width, count=len(a), seed=3)
        wide = (wide * 3)[: len(a)]
        want = [p + z & (1 << 2 * width) - 1 for p, z in zip(exact, wide, strict=True)]
        assert run(f"mad.wide.{type}", a, b, wide) == want


def _clip(x: int) -> int:
    return max(-(2**31), min(2**31 - 1, x)) & 0xFFFFFFFF


def test_saturated_sums_stop_at_the_ends() -> None:
    a, b = pairs(32)
    c, _ = pairs(32, seed=2)
    x, y, z = ([signed(v, 32) for v in column] for column in (a, b, c))
    assert run("add.sat.s32", a, b) == [_clip(p + q) for p, q in zip(x, y, strict=True)]
    assert run("sub.sat.s32", a, b) == [_clip(p - q) for p, q in zip(x, y, strict=True)]
    want = [_clip((p * q >> 32) + s) for p, q, s in zip(x, y, z, strict=True)]
    assert run("mad.hi.sat.s32", a, b, c) == want


@pytest.mark.parametrize("type", ("u32", "s32", "u64", "s64"))
def test_carries_chain_to_sums_of_twice_the_width(type: str) -> None:
    width = WIDTH[type]
    mask, whole = (1 << width) - 1, (1 << 2 * width) - 1
    a, b = pairs(2 * width)
    low = [[x & mask for x in c] for c in (a, b)]
    high = [[x >> width for x in c] for c in (a, b)]
    for first, then, exact in (
        ("add", "addc", [x + y & whole for x, y in zip(a, b, strict=True)]),
        ("sub", "subc", [x - y & whole for x, y in zip(a, b, strict=True)]),
    ):
        bottom, carry = run(f"{first}.cc.{type}", *low)
        top, out = run(f"{then}.cc.{type}", *high, carry)
        assert [t << width | x for t, x in zip(top, bottom, strict=True)] == exact
        assert run(f"{then}.{type}", *high, carry) == top
        beyond = [x + y > whole if first == "add" else x < y for x, y in zip(a, b, strict=True)]
        assert out == beyond


@pytest.mark.parametrize("type", ("u32", "u64"))
def test_products_with_carries_chain(type: str) -> None:
    width = WIDTH[type]
    mask = (1 << width) - 1
    a, b = pairs(width)
    c, d = pairs(width, seed=5)
    bottom, carry = run(f"mad.lo.cc.{type}", a, b, c)
    top, out = run(f"madc.hi.cc.{type}", a, b, d, carry)
    exact = [x * y + z + (w << width) for x, y, z, w in zip(a, b, c, d, strict=True)]
    assert [t << width | x for t, x in zip(top, bottom, strict=True)] == [
        e & (mask << width | mask) for e in exact
    ]
    assert out == [e >> 2 * width > 0 for e in exact]


def test_the_carry_is_declared_as_a_hidden_operand() -> None:
    add, addc = form(written("add.cc.u32")), form(written("addc.cc.u32"))
    assert (add.takes_carry, add.gives_carry) == (False, True)
    assert (addc.takes_carry, addc.gives_carry) == (True, True)
    assert addc.sources == ("u32", "u32", "pred") and addc.results == ("u32", "pred")
    assert not form(written("addc.u32")).gives_carry


@pytest.mark.parametrize("type", ("u32", "s32"))
def test_products_of_24_bits(type: str) -> None:
    a, b = pairs(32)
    c, _ = pairs(32, seed=2)

    def part(x: int) -> int:
        return signed(x, 24) if type == "s32" else x & 0xFFFFFF

    exact = [part(x) * part(y) for x, y in zip(a, b, strict=True)]
    for mode, shift in (("lo", 0), ("hi", 16)):
        want = [e >> shift & 0xFFFFFFFF for e in exact]
        assert run(f"mul24.{mode}.{type}", a, b) == want
        total = [w + z & 0xFFFFFFFF for w, z in zip(want, c, strict=True)]
        assert run(f"mad24.{mode}.{type}", a, b, c) == total
    if type == "s32":
        want = [_clip((e >> 16) + signed(z, 32)) for e, z in zip(exact, c, strict=True)]
        assert run("mad24.hi.sat.s32", a, b, c) == want


@pytest.mark.parametrize("type", WORDS)
def test_sum_of_a_distance(type: str) -> None:
    a, b = pairs(WIDTH[type])
    c, _ = pairs(WIDTH[type], seed=2)
    mask = (1 << WIDTH[type]) - 1
    want = [z + abs(seen(x, type) - seen(y, type)) & mask for x, y, z in zip(a, b, c, strict=True)]
    assert run(f"sad.{type}", a, b, c) == want


@pytest.mark.parametrize("type", ("s16", "s32", "s64"))
def test_the_size_and_the_opposite_of_the_smallest_number_are_itself(type: str) -> None:
    a = edges(WIDTH[type])
    mask = (1 << WIDTH[type]) - 1
    assert run(f"abs.{type}", a) == [abs(seen(x, type)) & mask for x in a]
    assert run(f"neg.{type}", a) == [-x & mask for x in a]
    smallest = 1 << WIDTH[type] - 1
    assert run(f"abs.{type}", [smallest]) == run(f"neg.{type}", [smallest]) == [smallest]


def test_relu_puts_zero_for_negative_extremes() -> None:
    a, b = pairs(32)
    for name, choose in (("min", min), ("max", max)):
        want = [max(0, choose(signed(x, 32), signed(y, 32))) for x, y in zip(a, b, strict=True)]
        assert run(f"{name}.relu.s32", a, b) == want


@pytest.mark.parametrize("name", ("add.u16x2", "add.s16x2", "min.u16x2", "max.s16x2",
                                  "min.relu.s16x2"))  # fmt: skip
def test_halves_are_computed_apart(name: str) -> None:
    a, b = pairs(32)
    one = name.removesuffix("x2").replace(".relu", "")
    halves = [run(one, [x >> s & 0xFFFF for x in a], [y >> s & 0xFFFF for y in b]) for s in (0, 16)]
    if "relu" in name:
        halves = [[0 if x >> 15 else x for x in half] for half in halves]
    assert run(name, a, b) == [h << 16 | low for low, h in zip(*halves, strict=True)]


@pytest.mark.parametrize("of_a", ("u32", "s32"))
@pytest.mark.parametrize("of_b", ("u32", "s32"))
def test_dot_products_of_bytes(of_a: str, of_b: str) -> None:
    a, b = pairs(32)
    c, _ = pairs(32, seed=2)

    def part(x: int, type: str, width: int, k: int) -> int:
        field = x >> width * k & (1 << width) - 1
        return signed(field, width) if type == "s32" else field

    four = [
        z + sum(part(x, of_a, 8, k) * part(y, of_b, 8, k) for k in range(4)) & 0xFFFFFFFF
        for x, y, z in zip(a, b, c, strict=True)
    ]
    assert run(f"dp4a.{of_a}.{of_b}", a, b, c) == four
    for mode, first in (("lo", 0), ("hi", 2)):
        two = [
            z + sum(part(x, of_a, 16, k) * part(y, of_b, 8, first + k) for k in (0, 1)) & 0xFFFFFFFF
            for x, y, z in zip(a, b, c, strict=True)
        ]
        assert run(f"dp2a.{mode}.{of_a}.{of_b}", a, b, c) == two


@pytest.mark.parametrize("name", ("add.sat.u32", "add.rn.s32", "add.u8", "mul.s32", "mul.wide.u64",
                                  "mad.wide.sat.u32", "min.relu.u32", "div.rn.u32", "abs.u32",
                                  "add.cc.u16", "sad.f32", "addc.sat.u32"))  # fmt: skip
def test_forms_that_ptx_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(Unsupported) as error:
        form(written(name))
    assert name in str(error.value)

"""Logic, shifts, bit fields, byte permutation and moves of PTX, bit by bit in Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blockstep.interp.ptx.isa import Instruction, Unsupported, form
from blockstep.interp.ptx.isa.moves import MODES
from blockstep.interp.ptx.isa.registry import WIDTH
from tests.ptx.instructions import edges, pairs, run, run_form, seen, signed, written

BITS = ("b16", "b32", "b64")


@pytest.mark.parametrize("type", (*BITS, "pred"))
def test_bitwise_operations(type: str) -> None:
    a, b = pairs(WIDTH[type]) if type != "pred" else ([0, 0, 1, 1], [0, 1, 0, 1])
    mask = (1 << WIDTH[type]) - 1 if type != "pred" else 1
    assert run(f"and.{type}", a, b) == [x & y for x, y in zip(a, b, strict=True)]
    assert run(f"or.{type}", a, b) == [x | y for x, y in zip(a, b, strict=True)]
    assert run(f"xor.{type}", a, b) == [x ^ y for x, y in zip(a, b, strict=True)]
    assert run(f"not.{type}", a) == [~x & mask for x in a]
    if type != "pred":
        assert run(f"cnot.{type}", a) == [int(x == 0) for x in a]


def test_lop3_of_every_table() -> None:
    # 0xf0, 0xcc, 0xaa as operands give the table itself in their low bits.
    for table in range(256):
        assert run("lop3.b32", [0xF0], [0xCC], [0xAA], [table])[0] & 0xFF == table


def test_lop3_with_a_predicate() -> None:
    a, b, c, q = [5, 5, 0, 0], [3, 3, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]
    d, p = run("lop3.or.b32", a, b, c, [0x80] * 4, q, results=2)
    assert d == [1, 1, 0, 0] and p == [True, True, False, True]
    _, p = run("lop3.and.b32", a, b, c, [0x80] * 4, q, results=2)
    assert p == [False, True, False, False]


@pytest.mark.parametrize("type", (*BITS, "u16", "s16", "u32", "s32", "u64", "s64"))
def test_shifts_past_the_width_give_zero_or_the_sign(type: str) -> None:
    width = WIDTH[type]
    cases = list(
        itertools.product(edges(width, 20), [*range(width + 3), 255, 256, 2**31, 2**32 - 1])
    )
    a, n = [c[0] for c in cases], [c[1] for c in cases]
    right = [seen(x, type) >> min(k, width) & (1 << width) - 1 for x, k in cases]
    assert run(f"shr.{type}", a, n) == right
    if type in BITS:
        left = [x << min(k, width) & (1 << width) - 1 for x, k in cases]
        assert run(f"shl.{type}", a, n) == left


@pytest.mark.parametrize("mode", ("wrap", "clamp"))
def test_funnel_shifts(mode: str) -> None:
    a, b = pairs(32, 500)
    for c in (*range(34), 63, 64, 2**32 - 1):
        n = c & 31 if mode == "wrap" else min(c, 32)
        both = [y << 32 | x for x, y in zip(a, b, strict=True)]
        left = [v << n >> 32 & 0xFFFFFFFF for v in both]
        assert run(f"shf.l.{mode}.b32", a, b, [c] * len(a)) == left
        assert run(f"shf.r.{mode}.b32", a, b, [c] * len(a)) == [v >> n & 0xFFFFFFFF for v in both]


FIELDS = (0, 1, 2, 7, 8, 15, 30, 31, 32, 33, 47, 62, 63, 64, 65, 127, 200, 255, 256, 257)


@pytest.mark.parametrize("type", ("u32", "s32", "u64", "s64"))
def test_bit_fields_are_taken_out(type: str) -> None:
    last = WIDTH[type] - 1

    def field(a: int, b: int, c: int) -> int:
        first, length = b & 255, c & 255
        sign = 0
        if type[0] == "s" and length:
            sign = a >> min(first + length - 1, last) & 1
        bits = (
            a >> first + k & 1 if k < length and first + k <= last else sign
            for k in range(last + 1)
        )
        return sum(bit << k for k, bit in enumerate(bits))

    cases = list(itertools.product(edges(WIDTH[type], 4)[::7], FIELDS, FIELDS))
    want = [field(*case) for case in cases]
    assert run(f"bfe.{type}", *map(list, zip(*cases, strict=True))) == want


@pytest.mark.parametrize("type", ("b32", "b64"))
def test_bit_fields_are_put_in(type: str) -> None:
    last = WIDTH[type] - 1

    def put(a: int, b: int, c: int, d: int) -> int:
        first, length = c & 255, d & 255
        for k in range(length):
            if first + k <= last:
                b = b & ~(1 << first + k) | (a >> k & 1) << first + k
        return b

    values = edges(WIDTH[type], 4)[::17]
    cases = list(itertools.product(values, values[::3], FIELDS, FIELDS))
    assert run(f"bfi.{type}", *map(list, zip(*cases, strict=True))) == [
        put(*case) for case in cases
    ]


@pytest.mark.parametrize("width", (32, 64))
def test_bits_are_counted_found_and_reversed(width: int) -> None:
    a = edges(width)
    assert run(f"popc.b{width}", a) == [x.bit_count() for x in a]
    assert run(f"clz.b{width}", a) == [width - x.bit_length() for x in a]
    assert run(f"brev.b{width}", a) == [int(f"{x:0{width}b}"[::-1], 2) for x in a]
    for kind in "us":
        sizes = [~x & (1 << width) - 1 if kind == "s" and x >> width - 1 else x for x in a]
        found = [x.bit_length() - 1 for x in sizes]
        assert run(f"bfind.{kind}{width}", a) == [f & 0xFFFFFFFF for f in found]
        amounts = [width - 1 - f if f >= 0 else 0xFFFFFFFF for f in found]
        assert run(f"bfind.shiftamt.{kind}{width}", a) == amounts


def test_the_nth_set_bit() -> None:
    def found(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        order = range(base, 32) if offset > 0 else range(base, -1, -1)
        hits = [k for k in order if mask >> k & 1]
        return hits[abs(offset) - 1] if len(hits) >= abs(offset) else 0xFFFFFFFF

    masks = (0, 1, 0xAAAAAAAA, 0x80000001, 0xFFFFFFFF, 0x00F0F000)
    cases = list(
        itertools.product(masks, range(32), (*range(-6, 7), 32, -32, 33, 2**31, 2**31 - 1))
    )
    want = [found(m, b, signed(o, 32)) for m, b, o in cases]
    assert run("fns.b32", *map(list, zip(*cases, strict=True))) == want


@pytest.mark.parametrize("mode", ("wrap", "clamp"))
def test_low_bits_are_extended_and_masks_are_made(mode: str) -> None:
    amounts = (0, 1, 2, 15, 16, 30, 31, 32, 33, 63, 64, 2**32 - 1)
    cases = list(itertools.product(edges(32, 20), amounts))
    a, b = map(list, zip(*cases, strict=True))

    def extended(x: int, n: int, is_signed: bool) -> int:
        if n >= 32 and mode == "clamp":
            return x
        n &= 31
        if n == 0:
            return 0
        low = x & (1 << n) - 1
        return (signed(low, n) if is_signed else low) & 0xFFFFFFFF

    for type in ("u32", "s32"):
        want = [extended(x, n, type == "s32") for x, n in cases]
        assert run(f"szext.{mode}.{type}", a, b) == want
    pairs_ = list(itertools.product(amounts, amounts))
    if mode == "wrap":
        want = [((1 << (n & 31)) - 1) << (p & 31) & 0xFFFFFFFF for p, n in pairs_]
    else:
        want = [((1 << min(n, 32)) - 1) << min(p, 32) & 0xFFFFFFFF for p, n in pairs_]
    assert run(f"bmsk.{mode}.b32", *map(list, zip(*pairs_, strict=True))) == want


def _permuted(a: int, b: int, selector: int) -> int:
    octets = (b << 32 | a).to_bytes(8, "little")
    result = []
    for k in range(4):
        control = selector >> 4 * k & 15
        octet = octets[control & 7]
        result.append((0xFF if octet >> 7 else 0) if control & 8 else octet)
    return int.from_bytes(bytes(result), "little")


def test_bytes_are_permuted_by_every_selector() -> None:
    a, b = 0x83C2_41F0, 0x7F80_65A4
    selectors = list(range(1 << 16))
    want = [_permuted(a, b, s) for s in selectors]
    assert run("prmt.b32", [a] * len(want), [b] * len(want), selectors) == want
    f = form(written("prmt.b32", 3))
    for s in (*selectors[::97], 0x5410, 0x7632, 0x3210, 0x0123, 0x3340):  # the same for all
        assert run_form(f, [a], [b], [s]) == [want[s]]


def test_permutation_modes_name_their_bytes() -> None:
    a, b = 0x3322_1100, 0x7766_5544
    for mode, rows in MODES.items():
        got = run(f"prmt.b32.{mode}", [a] * 8, [b] * 8, list(range(8)))
        named = [[x >> 8 * k & 15 for k in range(4)] for x in got]
        assert named == [list(row) for row in rows] * 2
    # From the table of the manual, which lists the highest byte first.
    assert MODES["b4e"][1] == (6, 7, 0, 1)[::-1]
    assert MODES["ecr"][2] == (2, 2, 1, 0)[::-1]


def _moved(type: str, to: int, source: int) -> Instruction:
    def operand(count: int) -> object:
        return tuple("xyzw"[:count]) if count else "r"

    return Instruction("mov", (type,), (type,), 1, (operand(to), operand(source)))


@pytest.mark.parametrize(
    ("type", "parts"), (("b32", 2), ("b64", 2), ("b64", 4), ("b32", 4), ("b16", 2))
)
def test_registers_are_packed_and_taken_apart(type: str, parts: int) -> None:
    values = edges(WIDTH[type])
    width = WIDTH[type] // parts
    columns = [[v >> width * k & (1 << width) - 1 for v in values] for k in range(parts)]
    assert run_form(form(_moved(type, parts, 0)), values) == columns
    assert run_form(form(_moved(type, 0, parts)), *columns) == values


def test_moves_that_change_nothing_copy_nothing() -> None:
    x = np.arange(4, dtype=np.uint64)
    assert form(written("mov.b64", 1)).compute(x) is x
    assert form(written("mov.f64", 1)).compute(x) is x
    assert form(written("cvta.to.global.u64", 1)).compute(x) is x
    assert form(written("cvta.shared.u64", 1)).compute(x) is x
    low, high = form(_moved("b128", 0, 2)).compute(x, x + 1)
    assert low is x and (high == x + 1).all()


@pytest.mark.parametrize("name", ("shl.u32", "shf.l.b32", "bfe.b32", "prmt.b32.f4", "lop3.b64",
                                  "popc.u32", "mov.u8", "and.u32", "cvta.to.nowhere.u64"))  # fmt: skip
def test_forms_that_ptx_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(written(name))

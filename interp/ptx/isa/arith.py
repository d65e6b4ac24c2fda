"""Integer arithmetic: sums, products, quotients, carries and dot products of bytes.

PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic
Instructions". Everything is modulo 2^width unless a modifier says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Bits,
    Compute,
    Form,
    Instruction,
    Reader,
    instruction,
)
from blockstep.interp.ptx.isa.views import INTEGERS, apart, halved, number, seen

WORDS = ("u16", "s16", "u32", "s32", "u64", "s64")
CARRIED = ("u32", "s32", "u64", "s64")


def same(type: str, count: int, compute: Compute) -> Form:
    """A form whose `count` sources and one result are of one type."""
    return Form(compute, (type,) * count, (type,))


def kept(a: Bits) -> Bits:
    """What does nothing: of `mov`."""
    return a


def limits(type: str) -> tuple[int, int]:
    """The least and the greatest number of an integer type of any width: `s4` → (-8, 7)."""
    width = int(type[1:])
    return (-(1 << width - 1), (1 << width - 1) - 1) if type[0] == "s" else (0, (1 << width) - 1)


def _clipped(compute: Callable[..., Any]) -> Compute:
    """A function of int32, computed in int64 and clipped to int32: `.sat.s32`."""
    low, high = limits("s32")

    def run(*x: Bits) -> Any:
        exact = compute(*(v.view(np.int32).astype(np.int64) for v in x))
        return exact.clip(low, high).astype(np.int32).view(np.uint32)

    return run


@instruction("add", "sub", types=INTEGERS)
def add(i: Instruction) -> Form:
    """`add{.sat}.type d, a, b`: d = a + b; `sub`: d = a - b; `.sat` (s32 only) clips to
    MININT…MAXINT; `add` of `.u16x2`, `.s16x2`: both halves; `.cc` also gives the carry or the borrow."""
    r = Reader(i)
    operation = np.add if i.opcode == "add" else np.subtract
    carry, saturated = r.flag("cc"), r.flag("sat")
    pairs = ("u16x2", "s16x2") if i.opcode == "add" else ()
    type = r.type(*CARRIED) if carry else r.type(*WORDS, *pairs)
    r.only(not saturated or type == "s32" and not carry)
    r.end()
    if carry:
        return _with_carry(type, i.opcode == "sub", taken=False, given=True)
    if saturated:
        return same(type, 2, _clipped(operation))
    return same(type, 2, halved(apart(type), operation) if type.endswith("x2") else operation)


@instruction("addc", "subc")
def addc(i: Instruction) -> Form:
    """`addc{.cc}.type d, a, b`: d = a + b + CC.CF; `subc`: d = a - (b + CC.CF)."""
    r = Reader(i)
    given = r.flag("cc")
    type = r.type(*CARRIED)
    r.end()
    return _with_carry(type, i.opcode == "subc", taken=True, given=given)


def _with_carry(type: str, borrow: bool, taken: bool, given: bool) -> Form:
    def run(a: Bits, b: Bits, carry: Bits | None = None) -> Any:
        first = a - b if borrow else a + b
        out = a < b if borrow else first < a
        if carry is None:
            return first, out
        last = first - carry if borrow else first + carry
        out = out | (last > first if borrow else last < first)
        return (last, out) if given else last

    return Form(
        run,
        (type, type) + ("pred",) * taken,
        (type,) + ("pred",) * given,
        takes_carry=taken,
        gives_carry=given,
    )


def wide(type: str) -> np.dtype[Any]:
    """The dtype of twice the width."""
    return np.dtype(("int" if type[0] == "s" else "uint") + str(2 * WIDTH[type]))


def _widened(type: str) -> Compute:
    """a · b in twice the width, as unsigned bits."""
    to, view = wide(type), number(type)
    back = np.dtype(f"uint{2 * WIDTH[type]}")
    return lambda a, b: np.multiply(a.view(view), b.view(view), dtype=to).view(back)


def _high(type: str) -> Compute:
    """The upper half of a · b."""
    width = WIDTH[type]
    if width == 64:
        return _high_signed_64 if type[0] == "s" else high_64
    product = _widened(type)
    shift, back = width, np.dtype(f"uint{width}")
    return lambda a, b: (product(a, b) >> shift).astype(back)


def high_64(a: Bits, b: Bits) -> Any:
    """The upper 64 bits of a · b, from four products of 32-bit halves."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = a & mask, a >> half, b & mask, b >> half
    middle = ah * bl + ((al * bl) >> half)
    other = al * bh + (middle & mask)
    return ah * bh + (middle >> half) + (other >> half)


def _high_signed_64(a: Bits, b: Bits) -> Any:
    """Read as unsigned, a negative factor is 2^64 too large: that is the other factor too much."""
    negative = np.uint64(63)
    return high_64(a, b) - (a >> negative) * b - (b >> negative) * a


@instruction("mul", types=INTEGERS)
def mul(i: Instruction) -> Form:
    """`mul.mode.type d, a, b`: `.lo` the lower half of a · b, `.hi` the upper half, `.wide` the
    whole product, in a register of twice the width (of 16 and 32 bits)."""
    r = Reader(i)
    mode, type = r.needs("lo", "hi", "wide"), r.type(*WORDS)
    r.only(mode != "wide" or WIDTH[type] < 64)
    r.end()
    if mode == "wide":
        return Form(_widened(type), (type, type), (_doubled(type),))
    return same(type, 2, np.multiply if mode == "lo" else _high(type))


def _doubled(type: str) -> str:
    return f"{type[0]}{2 * WIDTH[type]}"


@instruction("mad", types=INTEGERS)
def mad(i: Instruction) -> Form:
    """`mad.mode.type d, a, b, c`: the chosen part of a · b, plus c; `mad.hi.sat.s32` clips the sum;
    `.cc` also gives the carry."""
    r = Reader(i)
    mode, carry, saturated = r.needs("lo", "hi", "wide"), r.flag("cc"), r.flag("sat")
    type = r.type(*WORDS)
    r.only(mode != "wide" or WIDTH[type] < 64)
    r.only(not saturated or mode == "hi" and type == "s32" and not carry)
    r.only(not carry or mode != "wide" and WIDTH[type] >= 32)
    r.end()
    if mode == "wide":
        product = _widened(type)
        wider = _doubled(type)
        return Form(lambda a, b, c: product(a, b) + c, (type, type, wider), (wider,))
    part = np.multiply if mode == "lo" else _high(type)
    if carry:
        return _multiplied(part, _with_carry(type, False, taken=False, given=True))
    if saturated:
        clipped = _clipped(np.add)
        return same(type, 3, lambda a, b, c: clipped(part(a, b), c))
    return same(type, 3, lambda a, b, c: part(a, b) + c)


@instruction("madc", types=INTEGERS)
def madc(i: Instruction) -> Form:
    """`madc.mode{.cc}.type d, a, b, c`: the chosen half of a · b, plus c and CC.CF."""
    r = Reader(i)
    mode, given = r.needs("lo", "hi"), r.flag("cc")
    type = r.type("u32", "s32", "u64", "s64")
    r.end()
    part = np.multiply if mode == "lo" else _high(type)
    return _multiplied(part, _with_carry(type, False, taken=True, given=given))


def _multiplied(part: Compute, total: Form) -> Form:
    type = total.sources[0]
    return Form(
        lambda a, b, *rest: total.compute(part(a, b), *rest),
        (type, *total.sources),
        total.results,
        total.takes_carry,
        total.gives_carry,
    )


@instruction("mul24", "mad24")
def mul24(i: Instruction) -> Form:
    """`mul24.mode.type d, a, b`: a · b of the lower 24 bits, 48 bits long: `.lo` its lower 32 bits,
    `.hi` its upper 32; `mad24` adds c, and `mad24.hi.sat.s32` clips the sum."""
    r = Reader(i)
    mode, saturated = r.needs("lo", "hi"), r.flag("sat")
    type = r.type("u32", "s32")
    r.only(not saturated or i.opcode == "mad24" and mode == "hi" and type == "s32")
    r.end()
    product = _product_24(type, 0 if mode == "lo" else 16)
    if i.opcode == "mul24":
        return same(type, 2, product)
    total = _clipped(np.add) if saturated else np.add
    return same(type, 3, lambda a, b, c: total(product(a, b), c))


def _product_24(type: str, shift: int) -> Compute:
    # Left by 8 and right again: the 24 bits with their sign, or with zeros.
    view = number(type)

    def run(a: Bits, b: Bits) -> Any:
        a24, b24 = ((x << 8).view(view) >> 8 for x in (a, b))
        exact = np.multiply(a24, b24, dtype=np.int64)
        return (exact >> shift).astype(np.uint32)

    return run


@instruction("sad")
def sad(i: Instruction) -> Form:
    """`sad.type d, a, b, c`: d = c + |a - b|."""
    r = Reader(i)
    type = r.type(*WORDS)
    r.end()
    return same(type, 3, seen(type, lambda a, b, c: c + (np.maximum(a, b) - np.minimum(a, b))))


@instruction("div", "rem", types=INTEGERS)
def div(i: Instruction) -> Form:
    """`div.type d, a, b`: the quotient, rounded towards zero; `rem`: what is left, with the sign of
    a. For b = 0 the manual leaves the value open: here all bits are set. MININT / -1 wraps."""
    r = Reader(i)
    type = r.type(*WORDS)
    r.end()
    if type[0] == "u":
        plain = np.floor_divide if i.opcode == "div" else np.remainder
        return same(type, 2, lambda a, b: _unless_zero(plain(a, b), b))
    return same(type, 2, _signed_quotient(type) if i.opcode == "div" else _signed_rest(type))


def _unless_zero(result: Bits, b: Bits) -> Bits:
    return result if b.all() else np.where(b == 0, ~np.zeros((), b.dtype), result)


def _signed_quotient(type: str) -> Compute:
    view, sign = number(type), WIDTH[type] - 1

    def run(a: Bits, b: Bits) -> Bits:
        quotient = _size(a, view) // _size(b, view)
        negative = ((a ^ b).view(view) >> sign).view(quotient.dtype)  # 0, or -1
        return _unless_zero((quotient ^ negative) - negative, b)

    return run


def _signed_rest(type: str) -> Compute:
    view, sign = number(type), WIDTH[type] - 1

    def run(a: Bits, b: Bits) -> Bits:
        rest = _size(a, view) % _size(b, view)
        negative = (a.view(view) >> sign).view(rest.dtype)
        return _unless_zero((rest ^ negative) - negative, b)

    return run


def _size(x: Bits, view: np.dtype[Any]) -> Any:
    """|x| as an unsigned number: that of MININT is 2^(width - 1)."""
    return np.abs(x.view(view)).view(x.dtype)


@instruction("abs", types=INTEGERS)
def abs_(i: Instruction) -> Form:
    """`abs.type d, a`: d = |a|, of s16, s32, s64; that of MININT is MININT."""
    r = Reader(i)
    type = r.type("s16", "s32", "s64")
    r.end()
    return same(type, 1, seen(type, np.abs))


@instruction("neg", types=INTEGERS)
def neg(i: Instruction) -> Form:
    """`neg.type d, a`: d = -a, of s16, s32, s64."""
    r = Reader(i)
    type = r.type("s16", "s32", "s64")
    r.end()
    return same(type, 1, np.negative)


@instruction("min", "max", types=INTEGERS)
def extremum(i: Instruction) -> Form:
    """`min{.relu}.type d, a, b`, `max…`: the smaller, the larger; `.relu` (s32, s16x2) puts 0 for a
    negative result."""
    r = Reader(i)
    relu = r.flag("relu")
    type = r.type(*WORDS, "u16x2", "s16x2")
    r.only(not relu or type in ("s32", "s16x2"))
    r.end()
    plain = np.minimum if i.opcode == "min" else np.maximum
    chosen: Compute = (lambda a, b: np.maximum(plain(a, b), 0)) if relu else plain
    part = apart(type)
    compute = seen(part, chosen)
    return same(type, 2, halved(part, compute) if part != type else compute)


@instruction("dp4a")
def dp4a(i: Instruction) -> Form:
    """`dp4a.atype.btype d, a, b, c`: d = c + Σ a.byte[k] · b.byte[k], of four bytes each, signed or
    not as atype and btype say."""
    r = Reader(i)
    of_a, of_b = r.type("u32", "s32"), r.type("u32", "s32")
    r.end()

    def run(a: Bits, b: Bits, c: Bits) -> Any:
        terms = (_part(a, of_a, 8, k) * _part(b, of_b, 8, k) for k in range(4))
        return c + sum(terms).view(np.uint32)

    total = "u32" if of_a == of_b == "u32" else "s32"
    return Form(run, (of_a, of_b, total), (total,))


@instruction("dp2a")
def dp2a(i: Instruction) -> Form:
    """`dp2a.mode.atype.btype d, a, b, c`: d = c + Σ a.half[k] · b.byte[k], of two halves of a and
    the lower (`.lo`) or upper (`.hi`) two bytes of b."""
    r = Reader(i)
    first = 0 if r.needs("lo", "hi") == "lo" else 2
    of_a, of_b = r.type("u32", "s32"), r.type("u32", "s32")
    r.end()

    def run(a: Bits, b: Bits, c: Bits) -> Any:
        terms = [_part(a, of_a, 16, k) * _part(b, of_b, 8, first + k) for k in (0, 1)]
        return c + (terms[0] + terms[1]).view(np.uint32)

    total = "u32" if of_a == of_b == "u32" else "s32"
    return Form(run, (of_a, of_b, total), (total,))


def _part(x: Bits, type: str, width: int, k: int) -> Any:
    """Part k of `width` bits of a register, as int32."""
    top = (x << (32 - width * (k + 1))).view(number(type))
    return (top >> (32 - width)).view(np.int32)

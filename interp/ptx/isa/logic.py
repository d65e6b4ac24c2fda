"""Logic, shifts, bit fields and bit counts.

PTX ISA, "Logic and Shift Instructions", and the bit instructions among "Integer Arithmetic
Instructions".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.arith import same
from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Bits,
    Compute,
    Form,
    Instruction,
    Reader,
    instruction,
    unsigned,
)
from blockstep.interp.ptx.isa.views import number, seen

PLAIN = ("pred", "b16", "b32", "b64")
ONES = np.uint32(0xFFFFFFFF)

LOGIC: dict[str, Compute] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
}


@instruction("and", "or", "xor", "not")
def bitwise(i: Instruction) -> Form:
    """`and.type d, a, b`: d = a & b; `or`: a | b; `xor`: a ^ b; `not.type d, a`: ~a. Of bits, and of
    predicates."""
    r = Reader(i)
    type = r.type(*PLAIN)
    r.end()
    return same(type, 1 if i.opcode == "not" else 2, LOGIC[i.opcode])


@instruction("cnot")
def cnot(i: Instruction) -> Form:
    """`cnot.type d, a`: d = (a == 0) ? 1 : 0."""
    r = Reader(i)
    type = r.type("b16", "b32", "b64")
    r.end()
    to = unsigned(type)
    return same(type, 1, lambda a: (a == 0).astype(to))


@instruction("lop3")
def lop3(i: Instruction) -> Form:
    """`lop3.b32 d, a, b, c, immLut`: bit (4a + 2b + c) of the table, for every bit of a, b, c;
    `lop3.BoolOp.b32 d|p, a, b, c, immLut, q` also p = (d != 0) BoolOp q."""
    r = Reader(i)
    join = r.one("and", "or")
    r.type("b32")
    r.end()
    four = ("b32", "b32", "b32", "b32")
    if not join:
        return Form(_by_table, four, ("b32",))
    combine = LOGIC[join]

    def run(a: Bits, b: Bits, c: Bits, table: Bits, q: Bits) -> Any:
        d = _by_table(a, b, c, table)
        return d, combine(d != 0, q)

    return Form(run, (*four, "pred"), ("b32", "pred"))


def _by_table(a: Bits, b: Bits, c: Bits, table: Bits) -> Bits:
    result = np.zeros((1,) * a.ndim, np.uint32)
    for term in _terms(int(table.flat[0])):
        product = None
        for factor, taken in zip((a, b, c), term, strict=True):
            if taken:
                product = factor if product is None else product & factor
        result = result ^ (ONES if product is None else product)
    return result


@lru_cache(maxsize=256)
def _terms(table: int) -> tuple[tuple[int, int, int], ...]:
    """The function as an exclusive or of products (its algebraic normal form): which of a, b, c
    each product has. Bit 4a + 2b + c of the table is the value at (a, b, c)."""
    values = [table >> k & 1 for k in range(8)]
    for step in (1, 2, 4):
        for k in range(8):
            if k & step:
                values[k] ^= values[k ^ step]
    return tuple((k >> 2 & 1, k >> 1 & 1, k & 1) for k in range(8) if values[k])


def _amount(type: str) -> Compute:
    """A shift of 32 bits as one of the width; large ones stay past the width."""
    if WIDTH[type] == 16:
        return lambda b: np.minimum(b, np.uint32(16)).astype(np.uint16)
    return (lambda b: b) if WIDTH[type] == 32 else (lambda b: b.astype(np.uint64))


@instruction("shl", "shr")
def shift(i: Instruction) -> Form:
    """`shl.type d, a, b`: d = a << b; `shr`: a >> b, with the sign for signed types. b is 32 bits
    long; shifts past the width give 0, or the sign."""
    r = Reader(i)
    left = i.opcode == "shl"
    others = () if left else ("u16", "u32", "u64", "s16", "s32", "s64")
    type = r.type("b16", "b32", "b64", *others)
    r.end()
    amount = _amount(type)
    move = seen(type, np.left_shift if left else np.right_shift)
    return Form(lambda a, b: move(a, amount(b)), (type, "u32"), (type,))


@instruction("shf")
def funnel(i: Instruction) -> Form:
    """`shf.l.mode.b32 d, a, b, c`: the upper 32 bits of {b, a} << n; `shf.r`: the lower 32 bits of
    {b, a} >> n; n = c & 31 (`.wrap`) or min(c, 32) (`.clamp`)."""
    r = Reader(i)
    direction, mode = r.needs("l", "r"), r.needs("wrap", "clamp")
    r.type("b32")
    r.end()
    whole = np.uint32(32)

    def run(a: Bits, b: Bits, c: Bits) -> Bits:
        n = c & np.uint32(31) if mode == "wrap" else np.minimum(c, whole)
        # A shift by 32 gives 0, so that n = 0 leaves one word alone.
        if direction == "l":
            return (b << n) | (a >> (whole - n))
        return (b << (whole - n)) | (a >> n)

    return Form(run, ("b32", "b32", "u32"), ("b32",))


def _low(length: Bits) -> Any:
    """A mask of so many low bits; a shift past the width gives 0, and then all bits."""
    one = length.dtype.type(1)
    return (one << length) - one


@instruction("bfe")
def bfe(i: Instruction) -> Form:
    """`bfe.type d, a, b, c`: the c bits of a from bit b on, extended: by zeros, or for signed types
    by the topmost bit of the field that a has. Of b and c the lower 8 bits count."""
    r = Reader(i)
    type = r.type("u32", "s32", "u64", "s64")
    r.end()
    to, last = unsigned(type), WIDTH[type] - 1

    def run(a: Bits, b: Bits, c: Bits) -> Any:
        first, length = (b & 0xFF).astype(to), (c & 0xFF).astype(to)
        field = (a >> first) & _low(length)
        if type[0] == "u":
            return field
        top = np.minimum(first + length - to(1), to(last))
        negative = ((a >> top) & to(1)).astype(bool) & (length != 0)
        held = np.minimum(length, to(last + 1) - np.minimum(first, to(last + 1)))
        return np.where(negative, field | ~_low(held), field)

    return Form(run, (type, "u32", "u32"), (type,))


@instruction("bfi")
def bfi(i: Instruction) -> Form:
    """`bfi.type f, a, b, c, d`: b, with the d lowest bits of a put in from bit c on. Of c and d the
    lower 8 bits count."""
    r = Reader(i)
    type = r.type("b32", "b64")
    r.end()
    to = unsigned(type)

    def run(a: Bits, b: Bits, c: Bits, d: Bits) -> Any:
        first = (c & 0xFF).astype(to)
        mask = _low((d & 0xFF).astype(to)) << first
        return (b & ~mask) | ((a << first) & mask)

    return Form(run, (type, type, "u32", "u32"), (type,))


def _highest(x: Bits) -> Any:
    """The number of the highest bit that is set, as int32; -1 where none is."""
    wide = x.astype(np.uint64)
    # Without a bit below the highest one, f64 cannot round up to the next power of two.
    exponent = (wide & ~(wide >> np.uint64(1))).astype(np.float64).view(np.int64) >> 52
    return np.where(x == 0, -1, exponent - 1023).astype(np.int32)


@instruction("clz", "popc")
def count(i: Instruction) -> Form:
    """`clz.type d, a`: how many bits stand before the first 1, of 32 or 64; `popc`: how many bits
    are 1. d is 32 bits long."""
    r = Reader(i)
    type = r.type("b32", "b64")
    r.end()
    last = np.int32(WIDTH[type] - 1)
    if i.opcode == "popc":
        return Form(lambda a: np.bitwise_count(a).astype(np.uint32), (type,), ("u32",))
    return Form(lambda a: (last - _highest(a)).view(np.uint32), (type,), ("u32",))


@instruction("bfind")
def bfind(i: Instruction) -> Form:
    """`bfind{.shiftamt}.type d, a`: the highest bit that is not the sign: of a, or of ~a where a is
    negative; 0xffffffff where none is. `.shiftamt`: how far left it would have to go."""
    r = Reader(i)
    amount = r.flag("shiftamt")
    type = r.type("u32", "s32", "u64", "s64")
    r.end()
    last = np.int32(WIDTH[type] - 1)

    def run(a: Bits) -> Any:
        if type[0] == "s":
            a = np.where(a.view(number(type)) < 0, ~a, a)
        highest = _highest(a)
        if amount:
            highest = np.where(highest < 0, highest, last - highest)
        return highest.view(np.uint32)

    return Form(run, (type,), ("u32",))


@instruction("brev")
def brev(i: Instruction) -> Form:
    """`brev.type d, a`: the bits in reverse order."""
    r = Reader(i)
    type = r.type("b32", "b64")
    r.end()
    to = unsigned(type)
    masks = [(to(k), to(int(pattern * (WIDTH[type] // 8), 16)))
             for k, pattern in ((1, "55"), (2, "33"), (4, "0f"))]  # fmt: skip

    def run(a: Bits) -> Bits:
        for step, mask in masks:
            a = ((a & mask) << step) | ((a >> step) & mask)
        return a.byteswap()

    return same(type, 1, run)


@instruction("fns")
def fns(i: Instruction) -> Form:
    """`fns.b32 d, mask, base, offset`: the position of the offset-th set bit of the mask from bit
    `base` on, upwards, or downwards for a negative offset; for 0, `base` if its bit is set.
    0xffffffff where there is none. A base above 31 is undefined: here nothing is found."""
    r = Reader(i)
    r.type("b32")
    r.end()

    def run(mask: Bits, base: Bits, offset: Bits) -> Bits:
        steps = offset.view(np.int32).astype(np.int64)
        wanted = np.maximum(np.abs(steps), 1)
        first = base.astype(np.int64)
        shape = np.broadcast_shapes(mask.shape, base.shape, offset.shape)
        seen_so_far = np.zeros(shape, np.int64)
        found = np.full(shape, ONES)
        for distance in range(32):
            position = np.where(steps < 0, first - distance, first + distance)
            inside = (position >= 0) & (position < 32) & (first < 32)
            inside &= (steps != 0) | (distance == 0)
            bit = (mask >> position.clip(0, 31).astype(np.uint32)) & 1
            hit = inside & (bit == 1)
            seen_so_far += hit
            found = np.where(hit & (seen_so_far == wanted), position.astype(np.uint32), found)
        return found

    return Form(run, ("b32", "b32", "s32"), ("b32",))


@instruction("szext")
def szext(i: Instruction) -> Form:
    """`szext.mode.type d, a, b`: the lower b bits of a, extended by zeros or (s32) by the topmost of
    them; b of 32 and more counts modulo 32 (`.wrap`) or leaves a as it is (`.clamp`)."""
    r = Reader(i)
    mode, type = r.needs("clamp", "wrap"), r.type("u32", "s32")
    r.end()

    def run(a: Bits, b: Bits) -> Any:
        length = b & np.uint32(31)
        mask = _low(length)
        if mode == "clamp":
            mask = np.where(b >= 32, ONES, mask)
        field = a & mask
        if type == "u32":
            return field
        negative = ((a >> (length - np.uint32(1))) & 1).astype(bool) & (length != 0)
        return np.where(negative & (mask != ONES), field | ~mask, field)

    return Form(run, (type, "u32"), (type,))


@instruction("bmsk")
def bmsk(i: Instruction) -> Form:
    """`bmsk.mode.b32 d, a, b`: b bits set from bit a on; a and b count modulo 32 (`.wrap`), or
    those past 31 stay past the end (`.clamp`)."""
    r = Reader(i)
    mode = r.needs("clamp", "wrap")
    r.type("b32")
    r.end()

    def run(a: Bits, b: Bits) -> Any:
        if mode == "wrap":
            a, b = a & np.uint32(31), b & np.uint32(31)
        return _low(np.minimum(b, np.uint32(32))) << np.minimum(a, np.uint32(32))

    return Form(run, ("u32", "u32"), ("b32",))

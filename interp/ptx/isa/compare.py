"""Comparison and selection: `setp`, `set`, `selp`, `slct`.

PTX ISA, "Comparison and Selection Instructions" and "Comparisons" (ordered ones are false where an
operand is NaN, those that end in u are true).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.formats import LOAD, flushed
from blockstep.interp.ptx.isa.logic import LOGIC
from blockstep.interp.ptx.isa.registry import (
    Bits,
    Compute,
    Form,
    Instruction,
    Reader,
    instruction,
    unsigned,
)
from blockstep.interp.ptx.isa.views import apart, number

_ORDER: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
_OPPOSITE = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def _either_nan(a: Any, b: Any) -> Any:
    return np.isnan(a) | np.isnan(b)


def _unordered(name: str) -> Compute:
    """True where the opposite ordered comparison is not, so with NaN; but `neu`: a != b is."""
    if name == "equ":
        return lambda a, b: np.equal(a, b) | _either_nan(a, b)
    if name == "neu":
        return np.not_equal
    opposite = _ORDER[_OPPOSITE[name]]
    return lambda a, b: ~opposite(a, b)


_FLOAT: dict[str, Compute] = {
    **_ORDER,
    "ne": lambda a, b: np.not_equal(a, b) & ~_either_nan(a, b),
    **{name: _unordered(name) for name in _OPPOSITE},
    "num": lambda a, b: ~_either_nan(a, b),
    "nan": _either_nan,
}
_ALL = tuple(dict.fromkeys([*_FLOAT, *_UNSIGNED]))

WORDS = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")


def comparison(r: Reader, name: str, type: str, ftz: bool) -> Compute:
    """The comparison of two registers of one type (of one half, where it has two)."""
    part = apart(type)
    if part in LOAD:
        r.only(name in _FLOAT and (not ftz or part in ("f32", "f16")))
        load, compare, flush = LOAD[part], _FLOAT[name], partial(flushed, part)
        if ftz:
            return lambda a, b: compare(load(flush(a)), load(flush(b)))
        return lambda a, b: compare(load(a), load(b))
    r.only(not ftz and name in (*_ORDER, *_UNSIGNED))
    r.only(type[0] != "b" or name in ("eq", "ne"))
    r.only(type[0] == "u" or name in _ORDER)
    order = _ORDER.get(name) or _UNSIGNED[name]
    if type[0] != "s":
        return order
    view = number(type)
    return lambda a, b: order(a.view(view), b.view(view))


@instruction("setp")
def setp(i: Instruction) -> Form:
    """`setp.CmpOp{.BoolOp}{.ftz}.type p{|q}, a, b{, c}`: p = (a CmpOp b) BoolOp c, and q the same of
    !(a CmpOp b). Of `f16x2` and `bf16x2` p compares the lower halves, q the upper ones."""
    r = Reader(i)
    name, join, ftz = r.needs(*_ALL), r.one("and", "or", "xor"), r.flag("ftz")
    type = r.type(*WORDS, "f32", "f64", *HALVES)
    r.end()
    compare, two = comparison(r, name, type, ftz), isinstance(i.operands[0], tuple)
    if apart(type) != type:
        both = _of_both(compare)
        pair = both if two else lambda a, b: both(a, b)[0]
    else:
        pair = _and_opposite(compare) if two else compare
    return _joined(pair, join, type, two)


def _and_opposite(compare: Compute) -> Compute:
    def run(a: Bits, b: Bits) -> tuple[Bits, Bits]:
        t: Any = compare(a, b)
        return t, ~t

    return run


def _of_both(compare: Compute) -> Compute:
    def run(a: Bits, b: Bits) -> tuple[Bits, Bits]:
        low = compare(a.astype(np.uint16), b.astype(np.uint16))
        return low, compare((a >> 16).astype(np.uint16), (b >> 16).astype(np.uint16))

    return run


def _joined(compare: Compute, join: str, type: str, two: bool) -> Form:
    """The form of a comparison that gives one predicate, or two."""
    results = ("pred", "pred") if two else ("pred",)
    if not join:
        return Form(compare, (type, type), results)
    combine = LOGIC[join]

    def run(a: Bits, b: Bits, c: Bits) -> Any:
        t: Any = compare(a, b)
        return tuple(combine(x, c) for x in t) if two else combine(t, c)

    return Form(run, (type, type, "pred"), results)


@instruction("set")
def set_(i: Instruction) -> Form:
    """`set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, c}`: all bits of d where the comparison, joined
    with c, holds (1.0 for float dtypes), else 0."""
    r = Reader(i)
    name, join, ftz = r.needs(*_ALL), r.one("and", "or", "xor"), r.flag("ftz")
    to = r.type("u32", "s32", "f32", "u16", "s16", *HALVES)
    type = r.type(*WORDS, "f32", "f64", *HALVES)
    r.end()
    halves = apart(type) != type
    r.only(not halves or to in ("f16x2", "bf16x2", "u32", "s32"))
    r.only(halves or to not in ("f16x2", "bf16x2"))
    r.only(to not in ("u16", "s16") or type in ("f16", "bf16"))
    compare = comparison(r, name, type, ftz)
    if halves:
        return _set_halves(_joined(_of_both(compare), join, type, two=True), to)
    test = _joined(compare, join, type, two=False)
    kind = unsigned(to)
    one = _TRUE.get(to, ~kind(0))
    return Form(lambda *x: np.where(test.compute(*x), one, kind(0)), test.sources, (to,))


def _set_halves(test: Form, to: str) -> Form:
    one = np.uint32(_TRUE.get(apart(to), 0xFFFF))

    def run(*x: Bits) -> Any:
        low, high = test.compute(*x)
        return low * one | high * (one << 16)

    return Form(run, test.sources, (to,))


_TRUE: dict[str, Any] = {
    "f32": np.uint32(0x3F800000),
    "f16": np.uint16(0x3C00),
    "bf16": np.uint16(0x3F80),
}


@instruction("selp")
def selp(i: Instruction) -> Form:
    """`selp.type d, a, b, c`: d = c ? a : b, where c is a predicate."""
    r = Reader(i)
    type = r.type(*WORDS, "f32", "f64")
    r.end()
    return Form(lambda a, b, c: np.where(c, a, b), (type, type, "pred"), (type,))


@instruction("slct")
def slct(i: Instruction) -> Form:
    """`slct{.ftz}.dtype.ctype d, a, b, c`: d = (c >= 0) ? a : b, where c is an s32 or an f32; b where
    it is NaN, a where it is -0, or (`.ftz`) subnormal."""
    r = Reader(i)
    ftz = r.flag("ftz")
    type, by = r.type(*WORDS, "f32", "f64"), r.type("s32", "f32")
    r.only(not ftz or by == "f32")
    r.end()
    view = np.dtype(np.int32 if by == "s32" else np.float32)
    flush = partial(flushed, "f32")
    chosen: Compute = flush if ftz else lambda c: c
    return Form(
        lambda a, b, c: np.where(chosen(c).view(view) >= 0, a, b),
        (type, type, by),
        (type,),
    )

"""Floating-point arithmetic: correctly rounded, in each direction that PTX has.

PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions". The
approximate ones are in `approx`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa import exact, rounding
from blockstep.interp.ptx.isa.arith import same
from blockstep.interp.ptx.isa.formats import (
    LOAD,
    STORE,
    Array,
    flushed,
    odd_to_f32,
    settled,
    sign_bit,
)
from blockstep.interp.ptx.isa.registry import Bits, Compute, Form, Instruction, Reader, instruction
from blockstep.interp.ptx.isa.rounding import DIRECTIONS
from blockstep.interp.ptx.isa.views import FLOATS, apart, halved

HALF = ("f16", "f16x2", "bf16", "bf16x2")
Operation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What modifiers do around an operation: `.ftz`, `.sat`, `.relu`."""

    ftz: bool = False
    sat: bool = False
    relu: bool = False

    def around(self, part: str, operation: Operation) -> Compute:
        """The operation on carriers, as a function of the bits of one format."""
        load, store, flush = LOAD[part], STORE[part], partial(flushed, part)

        def run(*x: Bits) -> Bits:
            values = (load(flush(v)) for v in x) if self.ftz else map(load, x)
            result = operation(*values)
            if self.sat:
                result = saturated(result)
            if self.relu:
                result = clamped(result)
            bits = store(result)
            return flush(bits) if self.ftz else bits

        return run


def saturated(r: Array) -> Any:
    """`.sat`: to [0, 1]; NaN and -0 are +0."""
    # fmax first: it turns NaN into 0.
    low, high = r.dtype.type(0), r.dtype.type(1)
    return np.fmin(settled(np.fmax(r, low), r, low), high) + low


def clamped(r: Array) -> Any:
    """`.relu`: negative numbers and -0 are +0; NaN stays."""
    return np.maximum(r, r.dtype.type(0)) + r.dtype.type(0)


def floating(type: str, count: int, operation: Operation, around: Wrapping) -> Form:
    """The form of an operation on carriers."""
    part = apart(type)
    compute = around.around(part, operation)
    return same(type, count, halved(part, compute) if part != type else compute)


def _wrapping(r: Reader) -> Wrapping:
    return Wrapping(ftz=r.flag("ftz"), sat=r.flag("sat"), relu=r.flag("relu"))


def _checked(r: Reader, type: str, around: Wrapping) -> None:
    """`.ftz` of f32 and f16 only, `.sat` of those but not of f32x2, `.relu` of halves."""
    r.only(not around.ftz or type in ("f32", "f32x2", "f16", "f16x2"))
    r.only(not around.sat or type in ("f32", "f16", "f16x2"))
    r.only(not around.relu or type in HALF and not around.sat)
    r.end()


@instruction("add", "sub", "mul", types=FLOATS)
def add(i: Instruction) -> Form:
    """`add{.rnd}{.ftz}{.sat}.type d, a, b`: d = a + b; `sub`: a - b; `mul`: a · b. Rounded to
    nearest by default; f16 and bf16 always. `add.f32.f16 d, a, c`: a is an f16 or a bf16."""
    r = Reader(i)
    direction = r.one(*DIRECTIONS) or "rn"
    around = _wrapping(r)
    type = r.type(*HALF, "f32", "f64", "f32x2")
    if r.left and type == "f32" and i.opcode != "mul":
        return _mixed(r, 1, _operation(i.opcode, "f32", direction), around, ("f32",))
    r.only(not around.relu and (type not in HALF or direction == "rn"))
    _checked(r, type, around)
    return floating(type, 2, _operation(i.opcode, apart(type), direction), around)


@instruction("fma", "mad", types=FLOATS)
def fma(i: Instruction) -> Form:
    """`fma.rnd{.ftz}{.sat}.type d, a, b, c`: d = a · b + c, rounded once; `.relu` (halves) puts 0
    for a negative result. `mad` of floats is the same. `fma.rnd.f32.f16 d, a, b, c`: a and b are of
    f16 or bf16."""
    r = Reader(i)
    direction = r.needs(*DIRECTIONS)
    around = _wrapping(r)
    type = r.type(*HALF, "f32", "f64", "f32x2")
    if r.left and type == "f32" and i.opcode == "fma":
        return _mixed(r, 2, _operation("fma", "f32", direction), around, ("f32",))
    r.only(i.opcode == "fma" or type in ("f32", "f64"))
    r.only(type not in HALF or direction == "rn")
    _checked(r, type, around)
    part = apart(type)
    if part in HALF:
        return floating(type, 3, _fma_f16 if part == "f16" else _fma_bf16, around)
    return floating(type, 3, _operation("fma", part, direction), around)


def _mixed(
    r: Reader, halves: int, operation: Operation, around: Wrapping, rest: tuple[str, ...]
) -> Form:
    """An operation of f32 whose first operands are halves, which f32 holds exactly."""
    source = r.type("f16", "bf16")
    r.only(not around.ftz and not around.relu)
    r.end()
    load = LOAD[source]
    compute = around.around("f32", operation)

    def run(*x: Bits) -> Any:
        return compute(*(load(v).view(np.uint32) for v in x[:halves]), *x[halves:])

    return Form(run, (source,) * halves + rest, ("f32",))


@instruction("div", types=FLOATS)
def div(i: Instruction) -> Form:
    """`div.rnd{.ftz}.type d, a, b`: d = a / b, of f32 and f64."""
    return _rounded_form(i, "div", 2)


@instruction("sqrt", "rcp", types=FLOATS)
def sqrt(i: Instruction) -> Form:
    """`sqrt.rnd{.ftz}.type d, a`: the square root; `rcp`: d = 1 / a; of f32 and f64."""
    return _rounded_form(i, i.opcode, 1)


def _rounded_form(i: Instruction, operation: str, count: int) -> Form:
    r = Reader(i)
    direction = r.needs(*DIRECTIONS)
    around = Wrapping(ftz=r.flag("ftz"))
    type = r.type("f32", "f64")
    r.only(not around.ftz or type == "f32")
    r.end()
    return floating(type, count, _operation(operation, type, direction), around)


def _rcp(x: Array) -> Any:
    return x.dtype.type(1) / x


_PLAIN: dict[str, Operation] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": _rcp,
}


def _operation(name: str, part: str, direction: str) -> Operation:
    """The operation on carriers of a format, rounded in a direction."""
    if direction == "rn":
        if name == "fma":
            return rounding.fma_f32 if part == "f32" else exact.fma_f64
        return _PLAIN[name]
    if part == "f64":
        return _directed_f64(name, direction)
    return partial(_DIRECTED[name], direction)


def _directed_f64(name: str, direction: str) -> Operation:
    if name == "rcp":
        divide = _directed_f64("div", direction)
        return lambda x: divide(np.float64(1), x)
    plain = _PLAIN.get(name, exact.plain_fma)
    return lambda *x: exact.computed(name, plain(*x), direction, *x)


def _add_directed(direction: str, a: Array, b: Array) -> Array:
    s = rounding.added(a.astype(np.float64), b.astype(np.float64))
    if direction == "rm":
        s = rounding.zero_down(s, ~(np.signbit(a) | np.signbit(b)))
    return rounding.to_f32(s, direction)


def _sub_directed(direction: str, a: Array, b: Array) -> Array:
    return _add_directed(direction, a, -b)


def _mul_directed(direction: str, a: Array, b: Array) -> Array:
    return rounding.to_f32(np.multiply(a, b, dtype=np.float64), direction)


def _fma_directed(direction: str, a: Array, b: Array, c: Array) -> Array:
    product = np.multiply(a, b, dtype=np.float64)
    s = rounding.added(product, c.astype(np.float64))
    if direction == "rm":
        s = rounding.zero_down(s, ~(np.signbit(product) | np.signbit(c)))
    return rounding.to_f32(s, direction)


def _div_directed(direction: str, a: Array, b: Array) -> Array:
    """The nearest quotient times b, which f64 holds exactly, tells on which side it lies."""
    near = a / b
    excess = (np.multiply(near, b, dtype=np.float64) - a) * np.sign(b)
    return rounding.stepped(near, excess > 0, excess < 0, np.signbit(near), direction)


def _sqrt_directed(direction: str, a: Array) -> Array:
    near = np.sqrt(a)
    excess = np.multiply(near, near, dtype=np.float64) - a
    return rounding.stepped(near, excess > 0, excess < 0, np.signbit(near), direction)


def _rcp_directed(direction: str, a: Array) -> Array:
    return _div_directed(direction, np.ones((), np.float32), a)


_DIRECTED: dict[str, Operation] = {
    "add": _add_directed,
    "sub": _sub_directed,
    "mul": _mul_directed,
    "fma": _fma_directed,
    "div": _div_directed,
    "sqrt": _sqrt_directed,
    "rcp": _rcp_directed,
}


def _fma_f16(a: Array, b: Array, c: Array) -> Any:
    """Products of f16 are exact in f32, and sums of them have errors that are: rounded to odd there
    (24 bits; 13 would do), the store rounds them."""
    s, error = rounding.two_sum(a * b, c)
    return rounding.to_odd(s, error)


def _fma_bf16(a: Array, b: Array, c: Array) -> Any:
    """The same of bf16, whose numbers reach as far as f32's: what comes near the ends of the range
    goes through f64."""
    product = a * b
    s, error = rounding.two_sum(product, c)
    result = rounding.to_odd(s, error)
    size = np.maximum(np.abs(product), np.abs(c))
    doubtful = ~(size < np.float32(2.0**120)) | (np.abs(product) < np.float32(2.0**-100))
    doubtful &= (a != 0) & (b != 0)
    if doubtful.any():
        at = np.nonzero(doubtful)
        a, b, c = (np.broadcast_to(x, doubtful.shape)[at].astype(np.float64) for x in (a, b, c))
        result[at] = odd_to_f32(rounding.added(a * b, c))
    return result


@instruction("min", "max", types=FLOATS)
def extremum(i: Instruction) -> Form:
    """`min{.ftz}{.NaN}{.xorsign.abs}.type d, a, b`: the smaller, of f32 also of three; -0 < +0. NaN
    only where all are NaN, with `.NaN` where any is; `.abs` compares sizes, and `.xorsign` gives
    the result the product of the signs."""
    r = Reader(i)
    around = Wrapping(ftz=r.flag("ftz"))
    strict, xorsign, sizes = r.flag("NaN"), r.flag("xorsign"), r.flag("abs")
    type = r.type(*HALF, "f32", "f64")
    count = len(i.operands) - 1
    r.only(count == 2 or count == 3 and type == "f32" and not xorsign)
    r.only(sizes == xorsign or sizes and count == 3)
    r.only(type != "f64" or not (strict or sizes))
    _checked(r, type, around)
    choose = partial(_extreme, i.opcode == "min", strict)
    return floating(type, count, _by_size(choose, xorsign) if sizes else choose, around)


def _by_size(choose: Operation, xorsign: bool) -> Operation:
    def run(*x: Array) -> Any:
        size = choose(*map(np.abs, x))
        if not xorsign:
            return size
        return np.where(np.signbit(x[0]) ^ np.signbit(x[1]), -size, size)

    return run


def _extreme(smaller: bool, strict: bool, *x: Array) -> Any:
    a, *rest = x
    for b in rest:
        a = _extreme_of_two(smaller, strict, a, b)
    return a


def _extreme_of_two(smaller: bool, strict: bool, a: Array, b: Array) -> Any:
    if strict:
        chosen = np.minimum(a, b) if smaller else np.maximum(a, b)
    else:
        chosen = settled(np.fmin(a, b) if smaller else np.fmax(a, b), a, b)
    if chosen.all():
        return chosen
    # Equal numbers have equal bits, but for zeros: there the smaller has a sign if either has.
    bits = np.dtype(f"uint{8 * a.dtype.itemsize}")
    join = np.bitwise_or if smaller else np.bitwise_and
    return np.where(a == b, join(a.view(bits), b.view(bits)).view(a.dtype), chosen)


_REPEATED = {"f16x2": np.uint32(0x80008000), "bf16x2": np.uint32(0x80008000)}


@instruction("abs", "neg", types=FLOATS)
def sign(i: Instruction) -> Form:
    """`abs{.ftz}.type d, a`: without the sign bit; `neg`: with the other one."""
    r = Reader(i)
    ftz = r.flag("ftz")
    type = r.type(*HALF, "f32", "f64")
    r.only(not ftz or type in ("f32", "f16", "f16x2"))
    r.end()
    bit = _REPEATED.get(type) or sign_bit(type)
    others = ~bit
    plain: Compute = (lambda a: a & others) if i.opcode == "abs" else (lambda a: a ^ bit)
    if not ftz:
        return same(type, 1, plain)
    part = apart(type)
    one: Compute = partial(flushed, part)
    flush = halved(part, one) if part != type else one
    return same(type, 1, lambda a: plain(flush(a)))


@instruction("copysign")
def copysign(i: Instruction) -> Form:
    """`copysign.type d, a, b`: b with the sign of a, of f32 and f64."""
    r = Reader(i)
    type = r.type("f32", "f64")
    r.end()
    bit = sign_bit(type)
    return same(type, 2, lambda a, b: (a & bit) | (b & ~bit))


def _subnormal(x: Array) -> Any:
    return (np.abs(x) < np.finfo(x.dtype).smallest_normal) & (x != 0)


_PROPERTIES: dict[str, Operation] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & ~_subnormal(x),
    "subnormal": _subnormal,
}


@instruction("testp")
def testp(i: Instruction) -> Form:
    """`testp.op.type p, a`: whether a, of f32 or f64, is finite, infinite, a number, not a number,
    normal (zero is), subnormal."""
    r = Reader(i)
    holds = _PROPERTIES[r.needs(*_PROPERTIES)]
    type = r.type("f32", "f64")
    r.end()
    load = LOAD[type]
    return Form(lambda a: holds(load(a)), (type,), ("pred",))

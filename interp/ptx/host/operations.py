"""The operations of a trace as LLVM instructions on single elements.

What NumPy defines and LLVM leaves open is spelled out: shifts past the width, division by zero. Nothing
is contracted or reordered. A float is never NaN by chance: what comes out of an instruction as one is
made the one NaN of its type by the instruction's own function.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from blockstep.interp.ptx.isa.trace import Kind, Node


def type_of(kind: Kind) -> str:
    """The LLVM type of an element in a register."""
    if kind.kind == "b":
        return "i1"
    if kind.kind == "f":
        return {2: "half", 4: "float", 8: "double"}[kind.itemsize]
    return f"i{8 * kind.itemsize}"


def literal(node: Node) -> str:
    """A constant."""
    if node.kind.kind == "b":
        return "true" if node.value else "false"
    if node.kind.kind == "f":
        return f"bitcast (i{8 * node.kind.itemsize} {node.value} to {type_of(node.kind)})"
    return str(node.value)


class Lines:
    """Instructions in a row. `value` names a result."""

    def __init__(self, numbers: list[int]) -> None:
        self.lines: list[str] = []
        self._numbers = numbers  # shared by all of a function

    def value(self, text: str) -> str:
        """A line with a result: its name."""
        self._numbers[0] += 1
        name = f"%v{self._numbers[0]}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """A line without a result."""
        self.lines.append(f"  {text}")

    def call(self, name: str, type: str, *args: str, more: str = "") -> str:
        """A call of an intrinsic of one type."""
        given = ", ".join(f"{type} {a}" for a in args)
        return self.value(f"call {type} @llvm.{name}.{_SUFFIX.get(type, type)}({given}{more})")


_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
_PLAIN = {
    "add": ("or", "add", "fadd"), "subtract": ("", "sub", "fsub"),
    "multiply": ("and", "mul", "fmul"), "divide": ("", "", "fdiv"),
    "bitwise_and": ("and", "and", ""), "bitwise_or": ("or", "or", ""),
    "bitwise_xor": ("xor", "xor", ""),
}  # fmt: skip
_ORDER = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_FLOAT_CALLS = {"sqrt": "sqrt", "rint": "rint", "trunc": "trunc", "floor": "floor", "ceil": "ceil"}


def operation(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """The instructions of a node: the name of its result. `kinds` are those of its arguments `a`."""
    kind = kinds[0]
    type = type_of(kind)
    if node.op in _PLAIN:
        text = _PLAIN[node.op][{"b": 0, "f": 2}.get(kind.kind, 1)]
        return e.value(f"{text} {type} {a[0]}, {a[1]}")
    if node.op in _ORDER or node.op in ("equal", "not_equal"):
        return _comparison(e, node.op, kind, a[0], a[1])
    if node.op in _FLOAT_CALLS:
        return e.call(_FLOAT_CALLS[node.op], type, a[0])
    return _OTHERS[node.op](e, node, kinds, a)


def _comparison(e: Lines, op: str, kind: Kind, a: str, b: str) -> str:
    type = type_of(kind)
    if kind.kind == "f":
        text = {"equal": "oeq", "not_equal": "une"}.get(op) or "o" + _ORDER[op]
        return e.value(f"fcmp {text} {type} {a}, {b}")
    sign = "s" if kind.kind == "i" else "u"
    text = {"equal": "eq", "not_equal": "ne"}.get(op) or sign + _ORDER[op]
    return e.value(f"icmp {text} {type} {a}, {b}")


def _select(e: Lines, condition: str, type: str, a: str, b: str) -> str:
    return e.value(f"select i1 {condition}, {type} {a}, {type} {b}")


def _where(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return _select(e, a[0], type_of(node.kind), a[1], a[2])


def _negative(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    type = type_of(kinds[0])
    return e.value(f"fneg {type} {a[0]}" if kinds[0].kind == "f" else f"sub {type} 0, {a[0]}")


def _absolute(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    type = type_of(kinds[0])
    if kinds[0].kind == "f":
        return e.call("fabs", type, a[0])
    return e.call("abs", type, a[0], more=", i1 false") if kinds[0].kind == "i" else a[0]


def _invert(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    ones = "true" if kinds[0].kind == "b" else "-1"
    return e.value(f"xor {type_of(kinds[0])} {a[0]}, {ones}")


def _logical_not(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return e.value(f"xor i1 {_cast(e, kinds[0], np.dtype(bool), a[0])}, true")


def _shift(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """NumPy shifts past the width: everything is gone, but the sign."""
    kind, type = kinds[0], type_of(kinds[0])
    width = 8 * kind.itemsize
    word = "shl" if node.op == "left_shift" else "ashr" if kind.kind == "i" else "lshr"
    if a[1].isdigit() and int(a[1]) < width:
        return e.value(f"{word} {type} {a[0]}, {a[1]}")
    inside = e.value(f"icmp ult {type} {a[1]}, {width}")
    amount = _select(e, inside, type, a[1], str(width - 1) if word == "ashr" else "0")
    moved = e.value(f"{word} {type} {a[0]}, {amount}")
    return moved if word == "ashr" else _select(e, inside, type, moved, "0")


def _quotient(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """Of unsigned numbers; NumPy has 0 where the divisor is 0."""
    type = type_of(kinds[0])
    zero = e.value(f"icmp eq {type} {a[1]}, 0")
    divisor = _select(e, zero, type, "1", a[1])
    word = "udiv" if node.op == "floor_divide" else "urem"
    return _select(e, zero, type, "0", e.value(f"{word} {type} {a[0]}, {divisor}"))


def _extremum(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """The first where it is less (greater), or equal; `minimum` and `maximum` give a NaN if there is
    one, `fmin` and `fmax` the other operand."""
    kind, type = kinds[0], type_of(kinds[0])
    order = "less_equal" if node.op in ("minimum", "fmin") else "greater_equal"
    first = _comparison(e, order, kind, a[0], a[1])
    if kind.kind == "f":
        other = a[0] if node.op in ("minimum", "maximum") else a[1]
        lost = e.value(f"fcmp uno {type} {other}, {other}")
        first = e.value(f"or i1 {first}, {lost}")
    return _select(e, first, type, a[0], a[1])


def _class(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """isnan, isfinite, isinf."""
    type = type_of(kinds[0])
    if node.op == "isnan":
        return e.value(f"fcmp uno {type} {a[0]}, {a[0]}")
    size = e.call("fabs", type, a[0])
    infinite = {2: "0xH7C00", 4: "0x7FF0000000000000", 8: "0x7FF0000000000000"}[kinds[0].itemsize]
    return e.value(f"fcmp {'olt' if node.op == 'isfinite' else 'oeq'} {type} {size}, {infinite}")


def _signbit(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    width = 8 * kinds[0].itemsize
    bits = e.value(f"bitcast {type_of(kinds[0])} {a[0]} to i{width}")
    return e.value(f"icmp slt i{width} {bits}, 0")


def _copysign(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return e.call("copysign", type_of(kinds[0]), a[0], a[1])


def _count(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    type = type_of(kinds[0])
    found = e.call("ctpop", type, a[0])
    return found if type == "i8" else e.value(f"trunc {type} {found} to i8")


def _byteswap(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return e.call("bswap", type_of(kinds[0]), a[0])


def _fused(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return e.call("fma", "float", *a)


_TERMS = [math.log(2) ** k / math.factorial(k) for k in range(14)]  # of 2^r, |r| <= 1/2


def _exp2(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    """2^x of f64: a whole power of two times 2^r by its series. Off by an ulp or two, as NumPy's own is;
    it is only asked for where the result is rounded to f32, and no f32 has its power so near to
    the middle between two of them (the nearest are 356 ulps of f64 away)."""
    low = _select(e, e.value(f"fcmp olt double {a[0]}, -1100.0"), "double", "-1100.0", a[0])
    x = _select(e, e.value(f"fcmp ogt double {low}, 1100.0"), "double", "1100.0", low)
    whole = e.call("rint", "double", x)
    rest = e.value(f"fsub double {x}, {whole}")
    power = _bits(_TERMS[-1])
    for term in reversed(_TERMS[:-1]):
        power = e.call("fma", "double", power, rest, _bits(term))
    lost = e.value(f"fcmp uno double {whole}, {whole}")
    exponent = e.value(f"fptosi double {_select(e, lost, 'double', '0.0', whole)} to i64")
    half = e.value(f"ashr i64 {exponent}, 1")
    for part in (half, e.value(f"sub i64 {exponent}, {half}")):
        biased = e.value(f"add i64 {part}, 1023")
        scale = e.value(f"bitcast i64 {e.value(f'shl i64 {biased}, 52')} to double")
        power = e.value(f"fmul double {power}, {scale}")
    return power


def _bits(number: float) -> str:
    return f"0x{np.float64(number).view(np.uint64):016X}"


def _view(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    before, after = kinds[0], node.kind
    if "b" in (before.kind, after.kind):
        return _cast(e, before, after, a[0])
    source, to = type_of(before), type_of(after)
    return a[0] if source == to else e.value(f"bitcast {source} {a[0]} to {to}")


def _converted(e: Lines, node: Node, kinds: list[Kind], a: list[str]) -> str:
    return _cast(e, kinds[0], node.kind, a[0])


def _cast(e: Lines, before: Kind, after: Kind, a: str) -> str:
    source, to = type_of(before), type_of(after)
    if source == to:
        return a
    if after.kind == "b":
        return e.value(f"icmp ne {source} {a}, 0")
    if before.kind == "f" and after.kind == "f":
        return e.value(
            f"{'fpext' if before.itemsize < after.itemsize else 'fptrunc'} {source} {a} to {to}"
        )
    if before.kind == "f":
        return e.value(f"{'fptosi' if after.kind == 'i' else 'fptoui'} {source} {a} to {to}")
    if after.kind == "f":
        return e.value(f"{'sitofp' if before.kind == 'i' else 'uitofp'} {source} {a} to {to}")
    word = "sext" if before.kind == "i" else "zext"
    return e.value(f"{word if int(to[1:]) > int(source[1:]) else 'trunc'} {source} {a} to {to}")


_OTHERS: dict[str, Callable[[Lines, Node, list[Kind], list[str]], str]] = {
    "where": _where, "negative": _negative, "absolute": _absolute, "invert": _invert,
    "logical_not": _logical_not, "left_shift": _shift, "right_shift": _shift,
    "floor_divide": _quotient, "remainder": _quotient, "minimum": _extremum,
    "maximum": _extremum, "fmin": _extremum, "fmax": _extremum, "isnan": _class,
    "isfinite": _class, "isinf": _class, "signbit": _signbit, "copysign": _copysign,
    "exp2": _exp2, "bitwise_count": _count, "byteswap": _byteswap, "fused": _fused, "view": _view,
    "cast": _converted,
}  # fmt: skip

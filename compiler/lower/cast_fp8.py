"""Conversions of 8-bit floats: two elements an instruction on sm_89 and later for the formats that
the hardware has, integer arithmetic elsewhere.

Widening multiplies the bits, moved to where float32 has them, by the power of two between the
biases; narrowing rounds the bits of the magnitude. Both are exact for subnormals. What a format is
stands in `numerics.formats`, what a conversion gives in `numerics.convert`.
"""

from __future__ import annotations

import math
import struct

from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item, float_text
from blockstep.language import types as ty
from blockstep.language.numerics.formats import Format, format_of

_NAMES = {"fp8e4nv": "e4m3x2", "fp8e5": "e5m2x2"}
_HARDWARE = 89
_INFINITY = 0x7F800000
_E4B15_LARGEST = 0x3F00  # 1.75, as float16


def _in_hardware(lw: Lowering, kind: ty.dtype) -> bool:
    return kind.name in _NAMES and lw.options.capability >= _HARDWARE


class _Bits:
    """Elementwise integer arithmetic on a vector (or a scalar) of one width."""

    def __init__(self, lw: Lowering, item: Item) -> None:
        self.lw, self.item = lw, item

    def _constant(self, value: int) -> str:
        return self.lw.constant(value, self.item.kind, self.item.count).name

    def _of(self, name: str) -> _Bits:
        return _Bits(self.lw, Item(name, self.item.kind, self.item.count))

    def op(self, name: str, other: _Bits | int) -> _Bits:
        """An LLVM instruction or intrinsic of two operands."""
        right = self._constant(other) if isinstance(other, int) else other.item.name
        if name.startswith("llvm."):
            suffix = (
                self.item.element
                if self.item.count is None
                else f"v{self.item.count}{self.item.element}"
            )
            t = self.item.type
            return self._of(self.lw.b.call(t, f"{name}.{suffix}", [str(self.item), f"{t} {right}"]))
        return self._of(self.lw.b.value(f"{name} {self.item}, {right}"))

    def where(self, test: str, limit: int, yes: _Bits | int, no: _Bits | int) -> _Bits:
        """`yes` where the comparison of this with a constant holds, else `no`."""
        condition = self.lw.b.value(f"icmp {test} {self.item}, {self._constant(limit)}")
        chosen = [self._constant(v) if isinstance(v, int) else v.item.name for v in (yes, no)]
        kind = Item(condition, ty.int1, self.item.count)
        t = self.item.type
        return self._of(self.lw.b.value(f"select {kind}, {t} {chosen[0]}, {t} {chosen[1]}"))

    def cast(self, how: str, kind: ty.dtype) -> Item:
        """The same elements by a conversion of LLVM's."""
        target = Item("", kind, self.item.count).type
        return Item(self.lw.b.value(f"{how} {self.item} to {target}"), kind, self.item.count)


def _bits(lw: Lowering, x: Item, kind: ty.dtype) -> _Bits:
    """The bits of floats as integers of type `kind`."""
    return _Bits(lw, _Bits(lw, x).cast("bitcast", kind))


def _scaled(lw: Lowering, x: Item, power: int) -> Item:
    """float32 times 2**power, exactly: the product is rounded by nobody."""
    factor = lw.splat(Item(float_text(2.0**power, "float"), ty.float32), x.count)
    return Item(lw.b.value(f"fmul {x}, {factor.name}"), ty.float32, x.count)


# ---- narrowing


def narrow(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    """To an 8-bit float, saturating: nearest even or toward zero."""
    from blockstep.compiler.lower.cast import by_pairs, convert, odd_single

    if target.name == "fp8e4b15":
        half = x if x.kind.is_fp16() else convert(lw, x, ty.float16, "rtz")
        return _narrow_e4b15(lw, half)
    wide = odd_single(lw, x) if x.kind.is_fp64() else convert(lw, x, ty.float32)
    if rounding == "rtz" or not _in_hardware(lw, target):
        return _narrow_bits(lw, wide, target, rounding == "rtz")

    def compute(a: str, b: str) -> tuple[str, str]:
        both = lw.b.asm(
            "i16", f"cvt.rn.satfinite.{_NAMES[target.name]}.f32 $0, $2, $1;", "=h,f,f",
            [f"float {a}", f"float {b}"], effects=False,
        )  # fmt: skip
        return halves(lw, both)

    return by_pairs(lw, compute, target, wide)


def narrow_result(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    """A float32 result of arithmetic, rounded as IEEE 754 does: what is too large is an infinity,
    or NaN in a format that has none. Only a cast saturates."""
    code = narrow(lw, x, target, "rtne")
    if target.name == "fp8e4b15":  # it has codes for neither
        return code
    form = format_of(target.name)
    step = 2.0 ** (math.frexp(form.largest)[1] - 1 - form.fraction)
    tie_is_held = form.largest / step % 2 == 0
    bits = _bits(lw, x, ty.uint32)
    size, sign = bits.op("and", 0x7FFFFFFF), bits.op("lshr", 24).op("and", 0x80)
    held = _Bits(lw, _bits(lw, code, ty.uint8).cast("zext", ty.uint32))
    beyond = size.where("ule", _INFINITY, sign.op("or", 0x7C), held) if target.is_fp8e5() else None
    test = "ugt" if tie_is_held else "uge"
    limit = _single_bits(form.largest + step / 2)
    return size.where(test, limit, beyond or form.nan, held).cast("trunc", target)


def halves(lw: Lowering, both: str) -> tuple[str, str]:
    """The two bytes of an i16, low first."""
    low = lw.b.value(f"trunc i16 {both} to i8")
    high = lw.b.value(f"lshr i16 {both}, 8")
    return low, lw.b.value(f"trunc i16 {high} to i8")


def _narrow_e4b15(lw: Lowering, half: Item) -> Item:
    """At most 1.75, then the bits rounded, halves away from zero."""
    bits = _bits(lw, half, ty.uint16)
    size = bits.op("and", 0x7FFF).op("llvm.umin", _E4B15_LARGEST)
    code = size.op("shl", 1).op("add", 0x80).op("lshr", 8)
    sign = bits.op("lshr", 8).op("and", 0x80)
    return code.op("or", sign).cast("trunc", ty.float8e4b15)


def _narrow_bits(lw: Lowering, x: Item, target: ty.dtype, toward_zero: bool) -> Item:
    """From float32 by arithmetic on its bits."""
    form = format_of(target.name)
    bits = _bits(lw, x, ty.uint32)
    size = bits.op("and", 0x7FFFFFFF)
    held = size.op("llvm.umin", _single_bits(form.largest))
    code = held.where(
        "ult", (128 - form.bias) << 23, _subnormal(lw, held, form, toward_zero),
        _normal(held, form, toward_zero),
    )  # fmt: skip
    sign = bits.op("lshr", 24).op("and", 0x80)
    if form.nan == 0x80:  # there -0 is the code of NaN
        sign = code.where("eq", 0, 0, sign)
    if toward_zero and target.is_fp8e5():
        code = size.where("eq", _INFINITY, 0x7C, code)
    code = size.where("ugt", _INFINITY, form.nan, code.op("or", sign))
    return code.cast("trunc", target)


def _single_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _normal(held: _Bits, form: Format, toward_zero: bool) -> _Bits:
    """The code of a normal number: the bits shifted, and the bias taken off."""
    shift = 23 - form.fraction
    if not toward_zero:
        even = held.op("lshr", shift).op("and", 1)
        held = held.op("add", (1 << (shift - 1)) - 1).op("add", even)
    return held.op("lshr", shift).op("sub", (127 - form.bias) << form.fraction)


def _subnormal(lw: Lowering, held: _Bits, form: Format, toward_zero: bool) -> _Bits:
    """The code of a number below the normal ones: in units of the least of them."""
    value = held.cast("bitcast", ty.float32)
    if toward_zero:
        steps = _scaled(lw, value, form.bias - 1 + form.fraction)
        return _Bits(lw, _Bits(lw, steps).cast("fptoui", ty.uint32))
    # added to a number whose last place is that unit, it is rounded to even units
    large = 2.0 ** (24 - form.bias - form.fraction)
    constant = lw.splat(Item(float_text(large, "float"), ty.float32), value.count)
    total = Item(lw.b.value(f"fadd {value}, {constant.name}"), ty.float32, value.count)
    return _bits(lw, total, ty.uint32).op("sub", _single_bits(large))


# ---- widening


def widen(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    """From an 8-bit float, exactly."""
    from blockstep.compiler.lower.cast import by_pairs, convert

    name = x.kind.name
    if name == "fp8e5" and target.is_bf16():
        return convert(lw, _widen_bits(lw, x, special=False), target)
    if _in_hardware(lw, x.kind):
        found = by_pairs(lw, lambda a, b: _hardware_pair(lw, name, a, b), ty.float16, x)
    elif name in ("fp8e5", "fp8e4b15"):
        found = _widen_to_half(lw, x)
    else:
        found = _widen_bits(lw, x, special=True)
    return convert(lw, found, target, rounding)


def _hardware_pair(lw: Lowering, name: str, a: str, b: str) -> tuple[str, str]:
    low = lw.b.value(f"zext i8 {a} to i16")
    high = lw.b.value(f"zext i8 {b} to i16")
    high = lw.b.value(f"shl i16 {high}, 8")
    word = lw.b.value(f"or i16 {low}, {high}")
    both = lw.b.asm(
        "i32", f"cvt.rn.f16x2.{_NAMES[name]} $0, $1;", "=r,h", [f"i16 {word}"], effects=False
    )
    pair = lw.b.value(f"bitcast i32 {both} to <2 x half>")
    first = lw.b.value(f"extractelement <2 x half> {pair}, i32 0")
    return first, lw.b.value(f"extractelement <2 x half> {pair}, i32 1")


def _widen_to_half(lw: Lowering, x: Item) -> Item:
    """The formats whose exponents have float16's bias: the bits where float16 has them."""
    code = _Bits(lw, _Bits(lw, x).cast("zext", ty.uint16))
    if x.kind.name == "fp8e5":
        return code.op("shl", 8).cast("bitcast", ty.float16)
    sign, size = code.op("and", 0x80).op("shl", 8), code.op("and", 0x7F).op("shl", 7)
    return sign.op("or", size).cast("bitcast", ty.float16)


def _widen_bits(lw: Lowering, x: Item, special: bool) -> Item:
    """To float32 by a product; `special` codes are NaN."""
    form = format_of(x.kind.name)
    code = _Bits(lw, _Bits(lw, x).cast("zext", ty.uint32))
    size = code.op("and", 0x7F).op("shl", 23 - form.fraction).cast("bitcast", ty.float32)
    value = _bits(lw, _scaled(lw, size, 127 - form.bias), ty.uint32)
    value = value.op("or", code.op("and", 0x80).op("shl", 24))
    if special:
        tested = code if form.nan == 0x80 else code.op("and", 0x7F)
        value = tested.where("eq", form.nan, 0x7FFFFFFF, value)
    return value.cast("bitcast", ty.float32)

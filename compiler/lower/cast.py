"""Conversions between types, with the hardware's own instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockstep.compiler.lower.core import Lowering, Unlowered, computes
from blockstep.compiler.lower.text import Item, bits_of, scalar_type, vector
from blockstep.language import types as ty


@computes("cast")
def _cast(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    target = attributes["target"].scalar
    rounding = attributes.get("rounding") or "rtne"
    return convert(lw, x, target, rounding)


def convert(lw: Lowering, x: Item, target: ty.dtype, rounding: str = "rtne") -> Item:
    """`x` in another type, as the language converts it."""
    source = x.kind
    if source is target:
        return x
    if source.is_ptr() or target.is_ptr():
        return Item(x.name, target, x.count)
    if source.is_floating() and target.is_floating():
        return _float_to_float(lw, x, target, rounding)
    if source.is_floating():
        return _float_to_integer(lw, x, target)
    if target.is_floating():
        return _integer_to_float(lw, x, target)
    return _integer_to_integer(lw, x, target)


def _llvm(lw: Lowering, how: str, x: Item, target: ty.dtype) -> Item:
    type = vector(x.count, scalar_type(target))
    return Item(lw.b.value(f"{how} {x} to {type}"), target, x.count)


def _integer_to_integer(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    if target.is_int1():
        zero = lw.constant(0, x.kind, x.count)
        return Item(lw.b.value(f"icmp ne {x}, {zero.name}"), target, x.count)
    old, new = x.kind.primitive_bitwidth, target.primitive_bitwidth
    if old == new:
        return Item(x.name, target, x.count)
    if old > new:
        return _llvm(lw, "trunc", x, target)
    return _llvm(lw, "sext" if x.kind.is_int_signed() else "zext", x, target)


def _integer_to_float(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    how = "sitofp" if x.kind.is_int_signed() else "uitofp"
    if not (target.is_fp8() or target.is_bf16()):
        return _llvm(lw, how, x, target)
    if x.kind.primitive_bitwidth < 32:
        return convert(lw, _llvm(lw, how, x, ty.float32), target)
    return convert(lw, _odd_from_integer(lw, x), target)


# ---- rounded to odd: a second, narrower rounding of the result is a single one


def _made_odd(lw: Lowering, value: str, inexact: str) -> str:
    """A float32 that was cut off, with its last bit set where something was lost."""
    bits = lw.b.value(f"bitcast float {value} to i32")
    lost = lw.b.value(f"zext i1 {inexact} to i32")
    odd = lw.b.value(f"or i32 {bits}, {lost}")
    return lw.b.value(f"bitcast i32 {odd} to float")


def odd_single(lw: Lowering, x: Item) -> Item:
    """float64 to float32, to odd."""

    def compute(v: str) -> str:
        cut = lw.b.call("float", "llvm.nvvm.d2f.rz", [f"double {v}"])
        back = lw.b.value(f"fpext float {cut} to double")
        return _made_odd(lw, cut, lw.b.value(f"fcmp une double {back}, {v}"))

    return lw.each(compute, ty.float32, x)


def _odd_from_integer(lw: Lowering, x: Item) -> Item:
    """32 or 64 bits of an integer to float32, to odd."""
    there, back = {
        (32, True): ("i2f", "f2i"), (32, False): ("ui2f", "f2ui"),
        (64, True): ("ll2f", "f2ll"), (64, False): ("ull2f", "f2ull"),
    }[x.kind.primitive_bitwidth, x.kind.is_int_signed()]  # fmt: skip
    kind = x.element

    def compute(v: str) -> str:
        cut = lw.b.call("float", f"llvm.nvvm.{there}.rz", [f"{kind} {v}"])
        whole = lw.b.call(kind, f"llvm.nvvm.{back}.rz", [f"float {cut}"])
        return _made_odd(lw, cut, lw.b.value(f"icmp ne {kind} {whole}, {v}"))

    return lw.each(compute, ty.float32, x)


# float -> integer saturates, NaN gives 0: the instruction's own rule, which LLVM's fptosi lacks
_TO_INTEGER = {
    ("float", 32, True): "llvm.nvvm.f2i.rz", ("float", 32, False): "llvm.nvvm.f2ui.rz",
    ("float", 64, True): "llvm.nvvm.f2ll.rz", ("float", 64, False): "llvm.nvvm.f2ull.rz",
    ("double", 32, True): "llvm.nvvm.d2i.rz", ("double", 32, False): "llvm.nvvm.d2ui.rz",
    ("double", 64, True): "llvm.nvvm.d2ll.rz", ("double", 64, False): "llvm.nvvm.d2ull.rz",
}  # fmt: skip


def _float_to_integer(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    if target.is_int1():
        return _is_not_zero(lw, x)
    if x.kind.primitive_bitwidth < 32:
        x = convert(lw, x, ty.float32)
    bits, signed = target.primitive_bitwidth, target.is_int_signed()
    if bits < 32:
        return _float_to_narrow(lw, x, target)
    name = _TO_INTEGER[x.element, bits, signed]
    return lw.each(lambda v: lw.b.call(f"i{bits}", name, [f"{x.element} {v}"]), target, x)


def _float_to_narrow(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    """To 16 bits by the saturating instruction of that width; to 8 the low byte of that."""
    source, letter = ("f32", "f") if x.element == "float" else ("f64", "d")
    text = f"cvt.rzi.{'s' if target.is_int_signed() else 'u'}16.{source} $0, $1;"

    def compute(v: str) -> str:
        found = lw.b.asm("i16", text, f"=h,{letter}", [f"{x.element} {v}"], effects=False)
        return found if target.itemsize == 2 else lw.b.value(f"trunc i16 {found} to i8")

    return lw.each(compute, target, x)


def _is_not_zero(lw: Lowering, x: Item) -> Item:
    wide = convert(lw, x, ty.float32) if x.kind.is_fp8() else x
    zero = lw.splat(Item("0.0", wide.kind), wide.count)
    if wide.element in ("half", "bfloat"):
        zero = Item("zeroinitializer" if wide.count else "0xH0000", wide.kind, wide.count)
        wide2 = convert(lw, wide, ty.float32)
        return _is_not_zero(lw, wide2)
    return Item(lw.b.value(f"fcmp une {wide}, {zero.name}"), ty.int1, x.count)


def _float_to_float(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    source = x.kind
    if source.is_fp8():
        return _from_fp8(lw, x, target, rounding)
    if target.is_fp8():
        return _to_fp8(lw, x, target, rounding)
    if source.primitive_bitwidth < target.primitive_bitwidth:
        if source.is_bf16() and target.is_fp64():
            return _llvm(lw, "fpext", _llvm(lw, "fpext", x, ty.float32), target)
        return _llvm(lw, "fpext", x, target)
    if source.primitive_bitwidth == target.primitive_bitwidth:  # fp16 <-> bf16
        return convert(lw, _llvm(lw, "fpext", x, ty.float32), target, rounding)
    if rounding == "rtz":
        return _toward_zero(lw, x, target)
    if source.is_fp64() and target.is_bf16():
        return convert(lw, odd_single(lw, x), target)
    return _llvm(lw, "fptrunc", x, target)


def _toward_zero(lw: Lowering, x: Item, target: ty.dtype) -> Item:
    if x.kind.is_fp64():
        if target.is_fp32():
            return lw.each(
                lambda v: lw.b.call("float", "llvm.nvvm.d2f.rz", [f"double {v}"]), target, x
            )
        x = odd_single(lw, x)
    name = {"fp16": "f16", "bf16": "bf16"}[target.name]
    kind = scalar_type(target)

    def compute(v: str) -> str:
        bits = lw.b.asm("i16", f"cvt.rz.{name}.f32 $0, $1;", "=h,f", [f"float {v}"], effects=False)
        return lw.b.value(f"bitcast i16 {bits} to {kind}")

    return lw.each(compute, target, x)


def by_pairs(
    lw: Lowering, compute: Callable[[str, str], tuple[str, str]], kind: ty.dtype, x: Item
) -> Item:
    """Elementwise by instructions that take two elements at a time."""
    parts = lw.parts(x)
    found: list[str] = []
    for i in range(0, len(parts), 2):
        second = parts[i + 1] if i + 1 < len(parts) else parts[i]
        found += compute(parts[i], second)
    return lw.join(found[: len(parts)], kind, x.count)


def _to_fp8(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    """Saturating, to nearest even. Only float32 has the instruction on sm_89 and later."""
    from blockstep.compiler.lower import cast_fp8

    return cast_fp8.narrow(lw, x, target, rounding)


def _from_fp8(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    from blockstep.compiler.lower import cast_fp8

    return cast_fp8.widen(lw, x, target, rounding)


@computes("bitcast")
def _bitcast(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    target = attributes["target"].scalar
    if scalar_type(target) == x.element:
        return Item(x.name, target, x.count)
    if bits_of(target) != bits_of(x.kind):
        if x.kind.is_int1():
            return _llvm(lw, "zext", x, target)
        if target.is_int1():
            return _integer_to_integer(lw, x, target)
        raise Unlowered(f"bits of {x.kind} as {target}")
    return _llvm(lw, "bitcast", x, target)


@computes("pointer_to_int", "int_to_pointer")
def _address(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    target = attributes["target"].scalar
    if bits_of(target) == 64 and x.element == "i64":
        return Item(x.name, target, x.count)
    return _integer_to_integer(lw, Item(x.name, ty.int64, x.count), target)


@computes("round_tf32")
def _round_tf32(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    def compute(v: str) -> str:
        bits = lw.b.asm("i32", "cvt.rna.tf32.f32 $0, $1;", "=r,f", [f"float {v}"], effects=False)
        return lw.b.value(f"bitcast i32 {bits} to float")

    return lw.each(compute, x.kind, x)

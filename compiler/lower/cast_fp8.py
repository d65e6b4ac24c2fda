"""Conversions of 8-bit floats: two elements an instruction on sm_89 and later, integer arithmetic
elsewhere."""

from __future__ import annotations

from blockstep.compiler.lower.core import Lowering, Unlowered
from blockstep.compiler.lower.text import Item, scalar_type
from blockstep.language import types as ty

_NAMES = {"fp8e4nv": "e4m3x2", "fp8e5": "e5m2x2"}


def narrow(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    """To an 8-bit float: nearest even, saturating."""
    from blockstep.compiler.lower.cast import by_pairs, convert

    if target.name not in _NAMES or lw.options.capability < 89 or rounding == "rtz":
        raise Unlowered(f"{x.kind} to {target} ({rounding}) on {lw.options.target}")
    wide = convert(lw, x, ty.float32)

    def compute(a: str, b: str) -> tuple[str, str]:
        both = lw.b.asm(
            "i16", f"cvt.rn.satfinite.{_NAMES[target.name]}.f32 $0, $2, $1;", "=h,f,f",
            [f"float {a}", f"float {b}"], effects=False,
        )  # fmt: skip
        return halves(lw, both)

    return by_pairs(lw, compute, target, wide)


def halves(lw: Lowering, both: str) -> tuple[str, str]:
    """The two bytes of an i16, low first."""
    low = lw.b.value(f"trunc i16 {both} to i8")
    high = lw.b.value(f"lshr i16 {both}, 8")
    return low, lw.b.value(f"trunc i16 {high} to i8")


def widen(lw: Lowering, x: Item, target: ty.dtype, rounding: str) -> Item:
    """From an 8-bit float, exactly, through float16."""
    from blockstep.compiler.lower.cast import by_pairs, convert

    if x.kind.name not in _NAMES or lw.options.capability < 89:
        raise Unlowered(f"{x.kind} to {target} on {lw.options.target}")

    def compute(a: str, b: str) -> tuple[str, str]:
        low = lw.b.value(f"zext i8 {a} to i16")
        high = lw.b.value(f"zext i8 {b} to i16")
        high = lw.b.value(f"shl i16 {high}, 8")
        word = lw.b.value(f"or i16 {low}, {high}")
        both = lw.b.asm(
            "i32", f"cvt.rn.f16x2.{_NAMES[x.kind.name]} $0, $1;", "=r,h", [f"i16 {word}"],
            effects=False,
        )  # fmt: skip
        pair = lw.b.value(f"bitcast i32 {both} to <2 x half>")
        first = lw.b.value(f"extractelement <2 x half> {pair}, i32 0")
        return first, lw.b.value(f"extractelement <2 x half> {pair}, i32 1")

    half = by_pairs(lw, compute, ty.float16, x)
    assert scalar_type(half.kind) == "half"
    return half if target.is_fp16() else convert(lw, half, target, rounding)

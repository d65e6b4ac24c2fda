"""Mathematics: approximate instructions in the fast mode, as Triton chooses them; correctly rounded
instructions and libdevice in the exact one."""

from __future__ import annotations

from typing import Any

from blockstep.compiler.lower.core import Lowering, computes
from blockstep.compiler.lower.elementwise import intrinsic_suffix
from blockstep.compiler.lower.text import Item
from blockstep.language import types as ty


def _call(lw: Lowering, name: str, *items: Item) -> Item:
    """A scalar function at every element; result of the operands' type."""
    t = items[0].element
    return lw.each(
        lambda *parts: lw.b.call(t, name, [f"{t} {p}" for p in parts]), items[0].kind, *items
    )


def _instruction(lw: Lowering, text: str, *items: Item) -> Item:
    letter = "f" if items[0].element == "float" else "d"
    t = items[0].element
    places = ", ".join(f"${i + 1}" for i in range(len(items)))
    constraints = ",".join([f"={letter}", *[letter] * len(items)])

    def compute(*parts: str) -> str:
        return lw.b.asm(
            t, f"{text} $0, {places};", constraints, [f"{t} {p}" for p in parts], effects=False
        )

    return lw.each(compute, items[0].kind, *items)


def _fast(lw: Lowering, x: Item) -> bool:
    return x.kind.is_fp32() and not lw.options.exact


def _narrow(lw: Lowering, name: str, *items: Item) -> Item | None:
    """16-bit floats are computed in float32."""
    kind = items[0].kind
    if kind.primitive_bitwidth >= 32:
        return None
    wide = [lw.compute("cast", {"target": ty.float32}, [ty.float32], [i])[0] for i in items]
    (found,) = lw.compute(name, {}, [ty.float32], wide)
    return lw.compute("cast", {"target": kind}, [kind], [found])[0]


@computes("fdiv")
def _fdiv(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
    narrow = _narrow(lw, "fdiv", x, y)
    if narrow is not None:
        return narrow
    if _fast(lw, x):
        return _instruction(lw, "div.full.f32", x, y)
    return Item(lw.b.value(f"fdiv {x}, {y.name}"), x.kind, x.count)


@computes("div_rn")
def _div_rn(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
    narrow = _narrow(lw, "div_rn", x, y)
    if narrow is not None:
        return narrow
    return _instruction(lw, f"div.rn.{'f32' if x.kind.is_fp32() else 'f64'}", x, y)


@computes("exp")
def _exp(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    if not _fast(lw, x):
        return _call(lw, "__nv_expf" if x.kind.is_fp32() else "__nv_exp", x)
    scale = lw.splat(Item("0x3FF7154760000000", x.kind), x.count)  # log2(e)
    power = lw.b.value(f"fmul {x}, {scale.name}")
    return _instruction(lw, "ex2.approx.f32", Item(power, x.kind, x.count))


def _flushed(lw: Lowering, name: str, kinds: str = "f32") -> str:
    return f"{name}{'.ftz' if lw.options.flush else ''}.{kinds}"


@computes("exp2")
def _exp2(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    if _fast(lw, x):
        return _instruction(lw, _flushed(lw, "ex2.approx"), x)
    return _call(lw, "__nv_exp2f" if x.kind.is_fp32() else "__nv_exp2", x)


def _library(name: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
        return _call(lw, f"__nv_{name}{'f' if x.kind.is_fp32() else ''}", x)

    return rule


for _name in ("log", "log2", "sin", "cos", "erf"):
    computes(_name)(_library(_name))


@computes("sqrt")
def _sqrt(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    if _fast(lw, x):
        return _instruction(lw, _flushed(lw, "sqrt.approx"), x)
    return _instruction(lw, f"sqrt.rn.{'f32' if x.kind.is_fp32() else 'f64'}", x)


@computes("sqrt_rn")
def _sqrt_rn(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    return _instruction(lw, f"sqrt.rn.{'f32' if x.kind.is_fp32() else 'f64'}", x)


@computes("rsqrt")
def _rsqrt(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    if _fast(lw, x):
        return _instruction(lw, _flushed(lw, "rsqrt.approx"), x)
    return _call(lw, "__nv_rsqrtf" if x.kind.is_fp32() else "__nv_rsqrt", x)


def _rounding(name: str, instruction: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
        if x.kind.is_fp32():
            return _instruction(lw, _flushed(lw, f"cvt.{instruction}", "f32.f32"), x)
        return Item(
            lw.b.call(x.type, f"llvm.{name}.{intrinsic_suffix(x)}", [str(x)]), x.kind, x.count
        )

    return rule


computes("floor")(_rounding("floor", "rmi"))
computes("ceil")(_rounding("ceil", "rpi"))


@computes("fabs")
def _fabs(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    return Item(lw.b.call(x.type, f"llvm.fabs.{intrinsic_suffix(x)}", [str(x)]), x.kind, x.count)


@computes("iabs")
def _iabs(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    name = f"llvm.abs.{intrinsic_suffix(x)}"
    return Item(lw.b.call(x.type, name, [str(x), "i1 false"]), x.kind, x.count)


@computes("fma")
def _fma(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item, z: Item) -> Item:
    name = f"llvm.fma.{intrinsic_suffix(x)}"
    return Item(lw.b.call(x.type, name, [str(x), str(y), str(z)]), x.kind, x.count)

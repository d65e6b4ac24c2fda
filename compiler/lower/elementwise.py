"""Arithmetic, comparisons, bits, selection.

LLVM calls some results undefined that the language defines (shifts past the width, division by
zero): those take the PTX instruction itself, which the optimiser cannot reason about.
"""

from __future__ import annotations

from typing import Any

from blockstep.compiler.lower.core import Lowering, Unlowered, computes
from blockstep.compiler.lower.text import Item
from blockstep.language import types as ty


def _made(name: str, like: Item, kind: ty.dtype | None = None) -> Item:
    return Item(name, like.kind if kind is None else kind.scalar, like.count)


def flags(lw: Lowering) -> str:
    """Fast-math flags of float arithmetic: a product and a sum may become one fused operation."""
    return "" if lw.options.exact else "contract "


def _arithmetic(integer: str, floating: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        if x.kind.is_floating():
            if x.kind.is_fp8():
                raise Unlowered("arithmetic on 8-bit floats")
            return _made(lw.b.value(f"{floating} {flags(lw)}{x}, {y.name}"), x)
        name = "xor" if x.kind.is_int1() and integer in ("add", "sub") else integer
        name = "and" if x.kind.is_int1() and integer == "mul" else name
        return _made(lw.b.value(f"{name} {x}, {y.name}"), x)

    return rule


computes("add")(_arithmetic("add", "fadd"))
computes("sub")(_arithmetic("sub", "fsub"))
computes("mul")(_arithmetic("mul", "fmul"))


def _bitwise(name: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        return _made(lw.b.value(f"{name} {x}, {y.name}"), x)

    return rule


for _name in ("and", "or", "xor"):
    computes(_name)(_bitwise(_name))

_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"}
_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def _comparison(name: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        if x.kind.is_floating():
            text = f"fcmp {_ORDERED[name]} {x}, {y.name}"
        elif x.kind.is_ptr() or x.kind.is_int_unsigned():
            text = f"icmp {_UNSIGNED[name]} {x}, {y.name}"
        else:
            text = f"icmp {_SIGNED[name]} {x}, {y.name}"
        return _made(lw.b.value(text), x, ty.int1)

    return rule


for _name in _SIGNED:
    computes(_name)(_comparison(_name))


@computes("select")
def _select(lw: Lowering, attributes: Any, kind: ty.dtype, c: Item, x: Item, y: Item) -> Item:
    if c.count is None and x.count is not None:
        c = lw.splat(c, x.count)
    return _made(lw.b.value(f"select {c}, {x}, {y}"), x)


def _by_instruction(
    lw: Lowering, instruction: str, x: Item, y: Item, width: int, signed: bool, count_bits: int
) -> Item:
    """`instruction.type d, a, b;` for every element, 8-bit integers widened to 16."""
    own = x.kind.primitive_bitwidth
    wide = max(width, 16)
    letter = {16: "h", 32: "r", 64: "l"}
    extend = "sext" if signed else "zext"

    def compute(a: str, b: str) -> str:
        if own < wide:
            a = lw.b.value(f"{extend} i{own} {a} to i{wide}")
        if own < count_bits:
            b = lw.b.value(f"{extend} i{own} {b} to i{count_bits}")
        elif own > count_bits:
            b = lw.b.value(f"trunc i{own} {b} to i{count_bits}")
        found = lw.b.asm(
            f"i{wide}", f"{instruction} $0, $1, $2;", f"={letter[wide]},{letter[wide]},{letter[count_bits]}",
            [f"i{wide} {a}", f"i{count_bits} {b}"], effects=False,
        )  # fmt: skip
        return found if own == wide else lw.b.value(f"trunc i{wide} {found} to i{own}")

    return lw.each(compute, x.kind, x, y)


def constant_value(item: Item) -> int | None:
    """The integer of a constant item."""
    text = item.name
    if text.startswith("splat ("):
        text = text[7 + len(item.element) : -1].strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _division(quotient: bool) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        signed = x.kind.is_int_signed()
        name = ("s" if signed else "u") + ("div" if quotient else "rem")
        by = constant_value(y)
        if by is not None and by not in (0, -1):
            return _made(lw.b.value(f"{name} {x}, {y.name}"), x)
        bits = x.kind.primitive_bitwidth
        if bits == 1:  # by 1, or by 0, which gives all ones
            none = lw.b.value(f"xor {y}, {lw.constant(1, y.kind, y.count).name}")
            return _made(lw.b.value(f"or {x}, {none}") if quotient else none, x)
        if bits < 64:
            instruction = f"{'div' if quotient else 'rem'}.{'s' if signed else 'u'}32"
            return _narrow_division(lw, instruction, x, y, signed)
        zero = _made(lw.b.value(f"icmp eq {y}, {lw.constant(0, y.kind, y.count).name}"), y, ty.int1)
        one, ones = lw.constant(1, x.kind, x.count), lw.constant(-1, x.kind, x.count)
        safe = _made(lw.b.value(f"select {zero}, {one}, {y}"), y)
        found = _made(lw.b.value(f"{name} {x}, {safe.name}"), x)
        return _made(lw.b.value(f"select {zero}, {ones}, {found}"), x)

    return rule


def _narrow_division(lw: Lowering, instruction: str, x: Item, y: Item, signed: bool) -> Item:
    return _by_instruction(lw, instruction, x, y, 32, signed, 32)


computes("idiv")(_division(True))
computes("irem")(_division(False))


@computes("frem")
def _float_remainder(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
    """x - trunc(x / y) * y, the quotient rounded, the subtraction fused; x beside an infinity."""
    if x.kind.primitive_bitwidth < 32:
        wide = [lw.compute("cast", {"target": ty.float32}, [ty.float32], [i])[0] for i in (x, y)]
        (found,) = lw.compute("frem", {}, [ty.float32], wide)
        return lw.compute("cast", {"target": x.kind}, [x.kind], [found])[0]
    t, kind_text = x.type, intrinsic_suffix(x)
    quotient = lw.b.value(f"fdiv {x}, {y.name}")
    whole = lw.b.call(t, f"llvm.trunc.{kind_text}", [f"{t} {quotient}"])
    minus = lw.b.value(f"fneg {t} {whole}")
    rest = lw.b.call(t, f"llvm.fma.{kind_text}", [f"{t} {minus}", str(y), str(x)])
    size = lw.b.call(t, f"llvm.fabs.{kind_text}", [str(y)])
    infinity = lw.splat(Item("0x7FF0000000000000", x.kind), x.count)
    beside = _made(lw.b.value(f"fcmp oeq {t} {size}, {infinity.name}"), x, ty.int1)
    return _made(lw.b.value(f"select {beside}, {x}, {t} {rest}"), x)


def intrinsic_suffix(x: Item) -> str:
    """`v4f32`, `f64`: how LLVM's overloaded intrinsics are named."""
    letter = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
    name = letter.get(x.element, x.element)
    return name if x.count is None else f"v{x.count}{name}"


def _shift(llvm: str, ptx: str) -> Any:
    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        by, bits = constant_value(y), x.kind.primitive_bitwidth
        if by is not None and 0 <= by < bits:
            return _made(lw.b.value(f"{llvm} {x}, {y.name}"), x)
        if bits < 32:
            return _wide_shift(lw, llvm, x, y, bits)
        return _by_instruction(lw, f"{ptx}{bits}", x, y, bits, llvm == "ashr", 32)

    return rule


def _wide_shift(lw: Lowering, llvm: str, x: Item, y: Item, bits: int) -> Item:
    """8- and 16-bit shifts: by the width or more gives 0 or the sign."""
    most = lw.constant(bits - 1, y.kind, y.count)
    past = _made(lw.b.value(f"icmp ugt {y}, {most.name}"), y, ty.int1)
    safe = _made(lw.b.value(f"select {past}, {most}, {y}"), y)
    found = _made(lw.b.value(f"{llvm} {x}, {safe.name}"), x)
    if llvm == "ashr":
        return found
    zero = lw.constant(0, x.kind, x.count)
    return _made(lw.b.value(f"select {past}, {zero}, {found}"), x)


computes("shl")(_shift("shl", "shl.b"))
computes("lshr")(_shift("lshr", "shr.u"))
computes("ashr")(_shift("ashr", "shr.s"))


def _extreme(name: str) -> Any:
    least = name == "minimum"

    def rule(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
        if x.kind.is_floating():
            quiet = "minnum" if least else "maxnum"
            base = name if attributes.get("propagate_nan") else quiet
            if x.kind.is_fp64() and attributes.get("propagate_nan"):
                return _double_extreme(lw, quiet, x, y)
            suffix = intrinsic_suffix(x)
            return _made(lw.b.call(x.type, f"llvm.{base}.{suffix}", [str(x), str(y)]), x)
        if x.kind.is_int1():
            return _made(lw.b.value(f"{'and' if least else 'or'} {x}, {y.name}"), x)
        sign = "s" if x.kind.is_int_signed() else "u"
        full = f"llvm.{sign}{'min' if least else 'max'}.{intrinsic_suffix(x)}"
        return _made(lw.b.call(x.type, full, [str(x), str(y)]), x)

    return rule


def _double_extreme(lw: Lowering, quiet: str, x: Item, y: Item) -> Item:
    """There is no min.NaN.f64: NaN where the operands are unordered."""
    found = lw.b.call(x.type, f"llvm.{quiet}.{intrinsic_suffix(x)}", [str(x), str(y)])
    odd = _made(lw.b.value(f"fcmp uno {x}, {y.name}"), x, ty.int1)
    nan = lw.splat(Item("0x7FF8000000000000", x.kind), x.count)
    return _made(lw.b.value(f"select {odd}, {nan}, {x.type} {found}"), x)


computes("minimum")(_extreme("minimum"))
computes("maximum")(_extreme("maximum"))


@computes("clamp")
def _clamp(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, low: Item, high: Item) -> Item:
    (above,) = lw.compute("maximum", attributes, [kind], [x, low])
    return lw.compute("minimum", attributes, [kind], [above, high])[0]


@computes("umulhi")
def _umulhi(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, y: Item) -> Item:
    bits = x.kind.primitive_bitwidth
    name = {32: "llvm.nvvm.mulhi.ui", 64: "llvm.nvvm.mulhi.ull", 16: "llvm.nvvm.mulhi.us"}[bits]
    return lw.each(
        lambda a, b: lw.b.call(f"i{bits}", name, [f"i{bits} {a}", f"i{bits} {b}"]), x.kind, x, y
    )


@computes("addptr")
def _addptr(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item, offset: Item) -> Item:
    size = attributes["itemsize"]
    wide = offset
    if offset.kind.primitive_bitwidth < 64:
        how = "sext" if offset.kind.is_int_signed() else "zext"
        target = Item("", ty.int64, offset.count).type
        wide = Item(lw.b.value(f"{how} {offset} to {target}"), ty.int64, offset.count)
    if size != 1:
        factor = lw.constant(size, ty.int64, offset.count)
        wide = _made(lw.b.value(f"mul {wide}, {factor.name}"), wide)
    return Item(lw.b.value(f"add {x}, {wide.name}"), x.kind, x.count)


@computes("hint")
def _hint(lw: Lowering, attributes: Any, kind: ty.dtype, x: Item) -> Item:
    return x


@computes("map")
def _map(lw: Lowering, attributes: Any, kinds: Any, *items: Item) -> Any:
    return tuple(lw.apply(attributes["region"], items))

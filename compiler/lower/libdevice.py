"""Calls of libdevice, NVIDIA's library of mathematical functions: which of its functions an
overload of the language is.

The library marks types in four ways, by family: a letter before (`__nv_fadd_rn`, `__nv_dadd_rn`)
or behind (`__nv_sinf`, `__nv_sin`), `ll` and `64` for wide integers, and not at all where the name
says it (`__nv_float2int_rn`). Truth values come back as an i32 that is not 0.
"""

from __future__ import annotations

import re
from typing import Any

from blockstep.compiler.lower.core import Lowering, computes
from blockstep.compiler.lower.text import Item, scalar_type
from blockstep.language import types as ty

_ROUNDED = re.compile(r"(add|sub|mul|div|rcp|sqrt)_(rn|rz|rd|ru)")
_FUSED = re.compile(r"fma_(rn|rz|rd|ru)")
_AS_NAMED = re.compile(
    r"(float|double|u?int|u?ll)2\w+|\w+_as_\w+|hiloint2double|byte_perm|saturatef|finitef|isfinited"
    r"|rcp64h|fast_(?!dividef)\w+"
)
_INTEGERS: dict[str, dict[str, str]] = {
    "abs": {"int32": "abs", "int64": "llabs"},
    "brev": {"int32": "brev", "int64": "brevll"},
    "clz": {"int32": "clz", "int64": "clzll"},
    "ffs": {"int32": "ffs", "int64": "ffsll"},
    "popc": {"int32": "popc", "int64": "popcll"},
    "hadd": {"int32": "hadd", "uint32": "uhadd"},
    "rhadd": {"int32": "rhadd", "uint32": "urhadd"},
    "mul24": {"int32": "mul24", "uint32": "umul24"},
    "mulhi": {"int32": "mulhi", "uint32": "umulhi", "int64": "mul64hi", "uint64": "umul64hi"},
    "sad": {"int32": "sad", "uint32": "usad"},
}
_FLOATS: dict[str, tuple[str, str]] = {  # for float32 and float64
    "abs": ("fabsf", "fabs"),
    "rsqrt_rn": ("frsqrt_rn", "rsqrt"),
    "isnan": ("isnanf", "isnand"),
    "isinf": ("isinff", "isinfd"),
    "signbit": ("signbitf", "signbitd"),
    "fast_dividef": ("fast_fdividef", ""),
}


def symbol(function: str, operands: tuple[str, ...]) -> str:
    """The library's name of a function for operands of these types (`float32`, `int64`, …)."""
    return f"__nv_{_name(function, operands)}"


def _name(function: str, operands: tuple[str, ...]) -> str:
    first, single = operands[0], "float32" in operands
    if first in _INTEGERS.get(function, ()):
        return _INTEGERS[function][first]
    if function in _FLOATS:
        return _FLOATS[function][0 if single else 1]
    if _ROUNDED.fullmatch(function):
        return f"{'f' if single else 'd'}{function}"
    if _FUSED.fullmatch(function):
        return function.replace("fma", "fmaf") if single else function
    if _AS_NAMED.fullmatch(function):
        return function
    if function == "pow" and operands[1] == "int32":
        function = "powi"
    return f"{function}f" if single else function


@computes("libdevice")
def _libdevice(lw: Lowering, attributes: Any, kind: ty.dtype, *items: Item) -> Item:
    name = symbol(attributes["function"], tuple(i.kind.codegen_name() for i in items))
    returned = "i32" if kind.is_int1() else scalar_type(kind)

    def compute(*parts: str) -> str:
        told = [f"{i.element} {part}" for i, part in zip(items, parts, strict=True)]
        found = lw.b.call(returned, name, told)
        return lw.b.value(f"icmp ne i32 {found}, 0") if kind.is_int1() else found

    return lw.each(compute, kind, *items)

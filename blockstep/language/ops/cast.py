"""Conversions between types, as the hardware does them (`blockstep.language.numerics`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.op import Family, define, same


def _to_target(x: ty.dtype, *, target: ty.dtype, **_: Any) -> ty.dtype:
    return ty.blocked(target, x.shape)


@cache
def _converter(source: ty.dtype, target: ty.dtype, rounding: str | None) -> Callable[[Any], Any]:
    return numerics.converter(source.codegen_name(), target.codegen_name(), rounding)


def _convert(x: Any, source: ty.dtype, target: ty.dtype, rounding: str | None = None) -> Any:
    convert = _converter(source, target, rounding)
    if source._integer:
        return convert(x)[()]
    with np.errstate(all="ignore"):
        return convert(np.asarray(x))[()]


CAST = define(
    "cast",
    Family.ELEMENTWISE,
    _to_target,
    _convert,
    "`n -> n`: the value in another type: nearest even (or toward zero), fp8 saturating, "
    "float to integer saturating with NaN to 0, integer narrowing modulo 2^bits.",
)


def _reinterpret(x: Any, source: ty.dtype, target: ty.dtype) -> Any:
    if target.is_int1() or source.is_int1():
        return np.asarray(x).astype(np.uint8).astype(target.numpy)
    return np.asarray(x).view(target.numpy)


BITCAST = define(
    "bitcast",
    Family.ELEMENTWISE,
    _to_target,
    _reinterpret,
    "`n -> n`: the same bits read as another type of the same width.",
)

ROUND_TF32 = define(
    "round_tf32",
    Family.ELEMENTWISE,
    same,
    numerics.tf32_rna,
    "`n -> n`: float32 rounded to the ten fraction bits of tf32, ties away from zero.",
)

POINTER_TO_INT = define(
    "pointer_to_int",
    Family.ELEMENTWISE,
    _to_target,
    lambda x, target: np.asarray(x).astype(target.numpy),
    "`n -> n` int64: the address of each pointer.",
)

INT_TO_POINTER = define(
    "int_to_pointer",
    Family.ELEMENTWISE,
    _to_target,
    lambda x, target: np.asarray(x).astype(np.int64),
    "`n -> n`: 64-bit integers as addresses.",
)

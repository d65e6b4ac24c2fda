"""Mathematical functions: the true range of a function over the operand's range, widened by the
documented error of the instruction or library function that computes it.

`exp` in the fast mode is `ex2.approx(x * log2(e))` with a rounded product, so its relative error
grows with |x|. Approximate float32 functions may take subnormal numbers for zeros. A function that
is neither monotone nor slow (of slope at most 1) is undecided where its operand has a range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.bounds import documented
from blockstep.interp.bounds.arithmetic import ends, hull, rounded_range, surely_nan
from blockstep.interp.bounds.documented import Error
from blockstep.interp.bounds.ranges import (
    SMALLEST_NORMAL,
    UNDECIDED,
    Range,
    Ranged,
    above,
    all_fixed,
    anything,
    below,
    finish,
    flags_of,
    flushed,
    padded,
    product_range,
    tidied,
    units,
    widened,
)
from blockstep.interp.bounds.rules import Step, elementwise, rule, uncertain
from blockstep.language import types as ty
from blockstep.language.op import OPS
from blockstep.language.ops.libdevice import LIBDEVICE

OWN_ERROR = 4  # units of float64 within which NumPy's and our own functions are right

UP = frozenset(
    """exp exp2 exp10 expm1 log log2 log10 log1p sqrt cbrt erf asin asinh atan atanh sinh tanh acosh
    erfinv normcdf normcdfinv fast_expf fast_exp10f fast_logf fast_log2f fast_log10f fast_tanhf
    cyl_bessel_i1""".split()
)
DOWN = frozenset("rsqrt acos erfc erfcx erfcinv".split())
SLOW = frozenset({"sin", "cos"})


@dataclass(frozen=True, slots=True)
class Function:
    """A real function of float64 arrays, with what is documented of its hardware version."""

    name: str
    compute: Callable[..., Any]
    error: Error


def _library_error(name: str, kind: ty.dtype) -> Error:
    """What is documented is the distance from the correctly rounded result, which itself is half a
    unit away from the true value."""
    ulps = documented.LIBRARY[name][1 if kind.is_fp64() else 0]
    return Error(ulps=ulps + 0.5)


def _true_range(function: Function, x: Range, value: Any, degenerate: Any) -> Range:
    """The real range of the function over a range of its operand; NaN where it is not known."""
    with np.errstate(all="ignore"):
        at = [np.asarray(function.compute(end), np.float64) for end in x]
        if function.name in UP or function.name in DOWN:
            low, high = at if function.name in UP else at[::-1]
        elif function.name in SLOW:
            centre = np.asarray(function.compute(value), np.float64)
            reach = np.maximum(x[1] - value, value - x[0])
            low, high = np.maximum(centre - reach, -1.0), np.minimum(centre + reach, 1.0)
        else:
            low, high = (np.where(degenerate, a, np.nan) for a in at)
    return low - OWN_ERROR * _double_units(low), high + OWN_ERROR * _double_units(high)


def _double_units(x: Any) -> Any:
    return units(x, ty.float64)


def _widened_by(real: Range, error: Error, kind: ty.dtype) -> Range:
    def reach(end: Any) -> Any:
        return error.absolute + error.relative * np.where(np.isfinite(end), np.abs(end), 0.0)

    return padded(real[0] - reach(real[0]), real[1] + reach(real[1]), error.ulps, kind)


def _approximate(step: Step, function: Function, flushes: bool) -> Ranged:
    (x,) = step.operands
    operand = ends(x)
    single = step.kind.is_fp32() and flushes
    if single:
        operand = flushed(*operand)
    degenerate = operand[0] == operand[1]
    real = _true_range(function, operand, widened(x.value, x.kind), degenerate)
    found = _widened_by(real, function.error, step.kind)
    if single:
        found = flushed(*found)
    special = x.fixed & ~np.isfinite(x.lows) | x.fixed & np.isnan(widened(step.value, step.kind))
    if single:
        jumps = _jumps_at_zero(step, function)
        found, special = (np.where(jumps, np.nan, found[0]), found[1]), special & ~jumps
    return finish(step.value, step.kind, found, special, flags_of(x), surely_nan(x))


def _jumps_at_zero(step: Step, function: Function) -> Any:
    """Where the operand is a subnormal number, and only one of the results for it and for zero is a
    NaN."""
    x = widened(step.operands[0].value, step.operands[0].kind)
    with np.errstate(all="ignore"):
        zero = np.asarray(function.compute(np.copysign(0.0, x)), np.float64)
    small = (x != 0) & (np.abs(x) < SMALLEST_NORMAL)
    return small & (np.isnan(zero) != np.isnan(widened(step.value, step.kind)))


def _language(step: Step) -> Ranged:
    name = step.op.name
    compute = OPS[name].meaning
    assert compute is not None
    fast = step.kind.is_fp32() and not step.exact and name in documented.INSTRUCTIONS
    error = documented.INSTRUCTIONS[name] if fast else _library_error(name, step.kind)
    return _approximate(step, Function(name, compute, error), not step.exact)


rule("exp2", "log", "log2", "sin", "cos", "rsqrt", "erf", always=True)(_language)


@rule("sqrt", always=True)
def root(step: Step) -> Ranged:
    """`sqrt.approx.f32`, or rounded once."""
    return _language(step) if step.kind.is_fp32() and not step.exact else root_rounded(step)


@rule("sqrt_rn")
def root_rounded(step: Step) -> Ranged:
    """Monotone, and rounded once."""
    (x,) = step.operands
    low, high = np.sqrt(x.lows), np.sqrt(x.highs)
    real = (
        np.where(low * low == x.lows, low, below(low)),
        np.where(high * high == x.highs, high, above(high)),
    )
    return finish(
        step.value, step.kind, rounded_range(real, step.kind), x.fixed, flags_of(x), surely_nan(x)
    )


LOG2_E = np.float64(np.float32(np.log2(np.e)))


@rule("exp", always=True)
def exponential(step: Step) -> Ranged:
    """The product x log2(e) is rounded to float32 before it is the exponent of 2; or a library
    function computes e to the x."""
    made = _language(step)
    if step.exact or not step.kind.is_fp32():
        return made
    (x,) = step.operands
    scale = LOG2_E, LOG2_E
    power = rounded_range(product_range(ends(x), scale), ty.float32)
    function = Function("exp2", np.exp2, documented.EX2_APPROX)
    real = _true_range(function, power, power[0], False)
    by_instruction = flushed(*_widened_by(real, function.error, step.kind))
    by_library = _widened_by((made.lows, made.highs), Error(), step.kind)
    special = x.fixed & ~np.isfinite(x.lows)
    return finish(
        step.value, step.kind, hull(by_instruction, by_library), special, flags_of(x), surely_nan(x)
    )


@rule("floor", "ceil", always=True)
def whole(step: Step) -> Ranged:
    """Undecided where the range has two results. A subnormal float32 number may count as zero."""
    (x,) = step.operands
    round_to = np.floor if step.op.name == "floor" else np.ceil
    low, high = (round_to(end) for end in ends(x))
    if step.kind.is_fp32():
        low, high = hull((low, high), tuple(round_to(end) for end in flushed(*ends(x))))
    flags = np.where((low == high) | surely_nan(x), 0, UNDECIDED).astype(np.uint8)
    own = flags_of(x)
    exact = x.fixed & ((low == high) | np.isnan(low))
    return finish(step.value, step.kind, (low, high), exact, flags if own is None else flags | own)


# libdevice


@rule("libdevice", always=True)
def library(step: Step) -> Ranged | list[Ranged]:
    """By the function's documented error; exact functions of exact operands are exact."""
    name = step.attributes["function"]
    if not step.kind.is_floating():
        (made,) = elementwise(step)
        return _without_subnormals(step, made)
    if name in documented.FAST or name in documented.GROWING:
        return _intrinsic(step, name)
    whole = name == "pow" and step.operands[-1].kind.is_int()  # products, of no documented error
    if name in documented.UNBOUNDED or whole:
        return anything(step.value, step.kind, uncertain(step) | np.uint8(UNDECIDED))
    if name not in documented.LIBRARY or (name == "sqrt" and step.exact):
        return _exactly(step)
    function = Function(name, LIBDEVICE[name].meaning, _library_error(name, step.kind))
    if len(step.operands) == 1:
        return _without_subnormals(step, _approximate(step, function, not step.exact))
    return _without_subnormals(step, _of_several(step, function))


def _without_subnormals(step: Step, made: Ranged) -> Ranged:
    """Fast code takes a subnormal float32 operand for zero here and not there: what comes of it
    (also a NaN, where zero is set apart) is not documented, and open."""
    if step.exact:
        return made
    small: Any = False
    for x in step.operands:
        if x.kind.is_fp32():
            number = widened(x.value, x.kind)
            small = small | ((number != 0) & (np.abs(number) < SMALLEST_NORMAL))
    if not np.any(small):
        return made
    flags = np.where(small, UNDECIDED, 0 if made.flags is None else made.flags).astype(np.uint8)
    if not made.kind.is_floating():
        return anything(made.value, made.kind, flags)
    low, high = np.where(small, -np.inf, made.lows), np.where(small, np.inf, made.highs)
    return tidied(made.value, made.kind, low, high, flags)


def _exactly(step: Step) -> Ranged:
    """A function whose result is defined to the bit, but for subnormal float32 numbers."""
    made = elementwise(step)[0]
    if step.exact or not step.kind.is_fp32():
        return made
    true = widened(step.value, step.kind)
    tiny = (true != 0) & (np.abs(true) < SMALLEST_NORMAL)
    found = made.lows, made.highs
    low, high = (
        np.where(tiny, np.minimum(found[0], -0.0), found[0]),
        np.where(tiny, np.maximum(found[1], 0.0), found[1]),
    )
    other = _with_flushed_operands(step)
    jumps = np.isnan(other) != np.isnan(true)
    low, high = hull((low, high), (np.where(jumps, true, other),) * 2)
    if step.attributes["function"] in documented.SCALES:
        low, high = _scaled_subnormal(step, low, high, tiny)
    same = (low == high) & ((true != 0) | (np.signbit(other) == np.signbit(true)))
    sure = (same & made.fixed | np.isnan(true)) & ~jumps
    return finish(step.value, step.kind, (np.where(jumps, np.nan, low), high), sure, made.flags)


def _scaled_subnormal(step: Step, low: Any, high: Any, tiny: Any) -> Range:
    """The library's scaling goes through products that flush: a subnormal number may stay one, or
    be doubled."""
    x = step.operands[0].lows
    small = tiny | (x != 0) & (np.abs(x) < SMALLEST_NORMAL)
    most = 2 * SMALLEST_NORMAL
    return np.where(small, np.minimum(low, -most), low), np.where(
        small, np.maximum(high, most), high
    )


def _with_flushed_operands(step: Step) -> Any:
    """The result for operands whose subnormal numbers are zeros."""
    arrays = [np.asarray(x.value) for x in step.operands]
    held = [
        np.where(np.abs(a) < np.float32(SMALLEST_NORMAL), np.copysign(np.float32(0), a), a)
        if a.dtype == np.float32 else a
        for a in arrays
    ]  # fmt: skip
    return widened(np.asarray(step.meaning(*held)), step.kind)


def _of_several(step: Step, function: Function) -> Ranged:
    """Functions of two or more operands, whose ranges are not followed."""
    arrays = [widened(x.value, x.kind) if x.kind.is_floating() else x.value for x in step.operands]
    with np.errstate(all="ignore"):
        true = np.asarray(function.compute(*arrays), np.float64)
    true = np.where(np.isfinite(true), true, widened(step.value, step.kind))
    reach = OWN_ERROR * _double_units(true)
    found = _widened_by((true - reach, true + reach), function.error, step.kind)
    sure = all_fixed(*step.operands) & ~np.isfinite(widened(step.value, step.kind))
    if step.kind.is_fp32() and not step.exact:
        found = flushed(*found)
    flags = uncertain(step)
    low, high = (
        np.where(flags != 0, sign * np.inf, end) for sign, end in zip((-1, 1), found, strict=True)
    )
    return finish(step.value, step.kind, (low, high), sure, flags)


def _intrinsic(step: Step, name: str) -> Ranged:
    """`__sinf` and its like: one bound inside of a range of the operand and another outside."""
    (x,) = step.operands
    compute = LIBDEVICE[name].meaning
    largest = np.maximum(np.abs(x.lows), np.abs(x.highs))
    if name in documented.GROWING:
        count = 2 + np.floor(documented.GROWING[name] * np.where(np.isfinite(largest), largest, 0))
        found = _true_range(Function(name, compute, Error()), ends(x), x.lows, x.fixed)
        found = padded(*found, count, step.kind)
        return finish(
            step.value,
            step.kind,
            flushed(*found),
            x.fixed & ~np.isfinite(x.lows),
            flags_of(x),
            surely_nan(x),
        )
    first, last, inside, outside = documented.FAST[name]
    near = _approximate(step, Function(_plain(name), compute, inside), True)
    within = (x.lows >= first) & (x.highs <= last)
    if outside is None:
        far = anything(step.value, step.kind, np.where(within, 0, UNDECIDED))
    else:
        far = _approximate(step, Function(_plain(name), compute, outside), True)
    low, high = np.where(within, near.lows, far.lows), np.where(within, near.highs, far.highs)
    return finish(step.value, step.kind, (low, high), False, flags_of(near, far), surely_nan(x))


def _plain(name: str) -> str:
    """`fast_sinf` behaves as `sin`."""
    return name.removeprefix("fast_").removesuffix("f")


@rule("asm", always=True)
def assembly(step: Step) -> list[Ranged]:
    """Inline PTX: as written; what an approximate instruction gives is undecided."""
    made = elementwise(step)
    if (
        ".approx" not in step.attributes["program"].text
        and "div.full" not in step.attributes["program"].text
    ):
        return made
    lines = _single_approximation(step)
    if lines is not None:
        return [lines]
    return [
        anything(v, k, np.uint8(UNDECIDED)) for v, k in zip(step.values, step.kinds, strict=True)
    ]


_SINGLE: dict[str, Function] = {
    "ex2": Function("exp2", np.exp2, documented.EX2_APPROX),
    "rsqrt": Function("rsqrt", lambda x: 1 / np.sqrt(x), documented.RSQRT_APPROX),
    "sqrt": Function("sqrt", np.sqrt, documented.SQRT_APPROX),
    "rcp": Function("rcp", lambda x: 1 / x, documented.RCP_APPROX),
    "tanh": Function("tanh", np.tanh, documented.TANH_APPROX),
}


def _single_approximation(step: Step) -> Ranged | None:
    """A program of one approximate instruction on one float32 operand."""
    text = step.attributes["program"].text.strip().rstrip(";").strip()
    name, _, _ = text.partition(".")
    plain = len(step.operands) == 1 and len(step.values) == 1 and ";" not in text
    if not plain or name not in _SINGLE or not step.kind.is_fp32():
        return None
    return _approximate(step, _SINGLE[name], True)

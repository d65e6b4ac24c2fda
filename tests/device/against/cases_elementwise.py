"""Arithmetic, bits, comparisons, selection and conversions of every pair of types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import triton.language as tl
from tests.device.against import carriers, functions
from tests.device.against.case import (
    FLOATS,
    INTEGERS,
    SHORT_FLOATS,
    STORED,
    Case,
    Random,
    crossed,
    given,
    out,
    spread,
)
from tests.ops import promotion_tables as tables

N = 1024
TYPES = {
    "i1": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64,
    "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64,
    "fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5,
}  # fmt: skip
DIVISION_ULPS = 2  # div.full.f32: at most 2 (PTX ISA 8.7, 9.7.3.8); this computes the nearest


def _whole(kind: str) -> bool:
    return kind[0] in "iu"


def shaped(*letters: str) -> dict[str, Any]:
    """The constants by which a carrier knows that each block has N elements."""
    return {k: v for letter in letters for k, v in {letter: (N,), f"N{letter}": N}.items()}


def _two(group: str, fn: Any, left: str, right: str, result: str, fills: Any, **more: Any) -> Case:
    buffers = [given(left, N, fills[0]), given(right, N, fills[1]), out(result, N)]
    name = f"{fn.__name__}({left}, {right})"
    return Case(group, name, carriers.of_two, buffers, {**shaped("X", "Y"), "FN": fn}, **more)


def _divisors(left: str, right: str, promoted: str, fills: Any) -> Any:
    """No zero, and no -1, by which the least integer has no quotient."""

    def make(random: Random) -> Any:
        y = fills[1](random)
        if right == "i1":
            return y | True
        with_sign = STORED[right].kind == "i"
        bad = (y == 0) | (y == -1) if with_sign else y == 0
        y[bad] = 3
        return y

    return [fills[0], make]


def _counts(left: str, right: str, promoted: str) -> Any:
    """Shift counts below the width of the result."""
    bits = 1 if promoted == "i1" else STORED[promoted].itemsize * 8

    def make(random: Random) -> Any:
        return random.integers(0, min(bits, 127), N).astype(STORED[right])

    return [spread(left, N), make]


def pairs() -> Iterator[Case]:
    """SURFACE: what two blocks of any two types give."""
    f = functions
    comparisons = (f.lt, f.le, f.gt, f.ge, f.eq, f.ne)
    for left in STORED:
        for right in STORED:
            fills = crossed(left, right, N)
            promoted = tables.ARITHMETIC[left][right]
            if promoted != "-":
                for fn in (f.add, f.sub, f.mul, f.where):
                    yield _two("pairs", fn, left, right, promoted, fills)
                for fn in comparisons:
                    yield _two("pairs", fn, left, right, "i1", fills)
            extremum = tables.EXTREMA[left][right]
            if extremum != "-":
                for fn in (f.maximum, f.minimum, f.maximum_nan, f.minimum_nan):
                    yield _two("pairs", fn, left, right, extremum, fills)
            yield from _bits(left, right)
            yield from _divided(left, right, promoted, fills)


def _bits(left: str, right: str) -> Iterator[Case]:
    f, promoted = functions, tables.BITS[left][right]
    if promoted == "-":
        return
    for fn in (f.and_, f.or_, f.xor):
        yield _two("pairs", fn, left, right, promoted, crossed(left, right, N))
    for fn in (f.shl, f.shr):
        yield _two("pairs", fn, left, right, promoted, _counts(left, right, promoted))
        past = crossed(left, right, N)
        yield _two("undefined", fn, left, right, promoted, past, rule="recorded")


def _divided(left: str, right: str, promoted: str, fills: Any) -> Iterator[Case]:
    f, result = functions, tables.DIVISION[left][right]
    if result == "-":
        return
    exact = {} if result == "fp64" else {"rule": "ulps", "limit": DIVISION_ULPS}
    yield _two("pairs", f.div, left, right, result, fills, **exact)
    if not (_whole(left) and _whole(right)):
        yield _two("pairs", f.mod, left, right, result, fills)
        return
    defined = _divisors(left, right, promoted, fills)
    for fn in (f.floordiv, f.mod):
        yield _two("pairs", fn, left, right, promoted, defined)
        yield _two("undefined", fn, left, right, promoted, fills, rule="recorded")


def literals() -> Iterator[Case]:
    """SURFACE: a block and a Python number."""
    f = functions
    families = (
        (tables.LITERAL_ARITHMETIC, (f.add, f.sub, f.mul, f.where_literal)),
        (tables.LITERAL_DIVISION, (f.div,)),
        (tables.LITERAL_EXTREMA, (f.maximum, f.minimum)),
    )
    for table, fns in families:
        for left in STORED:
            for text, result in table[left].items():
                for fn in fns if result != "-" else ():
                    yield _literal(fn, left, text, result)
    for left in STORED:
        for text in ("True", "2", "-1", "300", "0.5"):
            for fn in (f.lt, f.eq, f.ge) if left not in SHORT_FLOATS else ():
                yield _literal(fn, left, text, "i1")


def _literal(fn: Any, left: str, text: str, result: str) -> Case:
    about = {"rule": "ulps", "limit": DIVISION_ULPS} if fn is functions.div else {}
    constants = {**shaped("X"), "FN": fn, "VALUE": ast.literal_eval(text)}
    buffers = [given(left, N, spread(left, N)), out(result, N)]
    name = f"{fn.__name__}({left}, {text})"
    return Case("literals", name, carriers.of_one_and_constant, buffers, constants, **about)  # type: ignore[arg-type]


def conversions() -> Iterator[Case]:
    """Every cast, with truncating rounding where it may be asked for, and every bitcast."""
    for left in STORED:
        for right in STORED:
            if left == right or (right in SHORT_FLOATS and _whole(left)):
                continue
            yield _cast(left, right, None, False)
            narrower = STORED[right].itemsize < STORED[left].itemsize
            if not _whole(left) and not _whole(right) and narrower:
                yield _cast(left, right, "rtz", False)
            if STORED[left].itemsize == STORED[right].itemsize and "i1" not in (left, right):
                yield _cast(left, right, None, True)


def _cast(left: str, right: str, rounding: str | None, bitcast: bool) -> Case:
    words = "bitcast" if bitcast else rounding or "cast"
    constants = {"N": N, "TYPE": TYPES[right], "ROUND": rounding, "BITCAST": bitcast}
    buffers = [given(left, N, spread(left, N)), out(right, N)]
    return Case("casts", f"{words}({left} -> {right})", carriers.converted, buffers, constants)


def unary() -> Iterator[Case]:
    """Functions of one block that are exact."""
    f = functions
    for kind in STORED:
        named = [(f.neg, kind), (f.abs_, kind), (f.inv, kind if _whole(kind) else "-")]
        named += [(f.not_, "i1")] if kind == "i1" else []
        named += [(fn, kind) for fn in (f.floor, f.ceil) if kind in ("fp32", "fp64")]
        for fn, result in named:
            if result != "-":
                buffers = [given(kind, N, spread(kind, N)), out(result, N)]
                constants = {**shaped("X"), "FN": fn}
                name = f"{fn.__name__}({kind})"
                yield Case("unary", name, carriers.of_one, buffers, constants)


def exact_functions() -> Iterator[Case]:
    """Functions of two or three blocks that are rounded once or not at all."""
    f = functions
    yield _two("exact", f.div_rn, "fp32", "fp32", "fp32", crossed("fp32", "fp32", N))
    yield _two("exact", f.fdiv, "fp64", "fp64", "fp64", crossed("fp64", "fp64", N))
    yield _two(
        "exact", f.fdiv, "fp32", "fp32", "fp32", crossed("fp32", "fp32", N), rule="ulps", limit=2
    )
    # Triton 3.6.0 takes `ieee_rounding` and emits div.full.f32 all the same
    rounded = crossed("fp32", "fp32", N)
    yield _two("exact", f.fdiv_rounded, "fp32", "fp32", "fp32", rounded, rule="ulps", limit=2)
    for kind in ("i32", "u32", "i64", "u64"):
        yield _two("exact", f.umulhi, kind, kind, kind, crossed(kind, kind, N))
    for kind in INTEGERS:
        fills = [lambda r, k=kind: r.integers(0, 60, N).astype(STORED[k]),
                 lambda r, k=kind: r.integers(1, 60, N).astype(STORED[k])]  # fmt: skip
        yield _two("exact", f.cdiv, kind, kind, kind, fills)
    for kind in FLOATS:
        wide = "fp32" if kind == "bf16" else kind
        for fn, result in ((f.fma, kind), (f.clamp, wide), (f.clamp_nan, wide)):
            yield _three("exact", fn, kind, result)
        yield _three("contraction", f.multiply_add, kind, kind, rule="recorded")


def _three(group: str, fn: Any, kind: str, result: str, **more: Any) -> Case:
    low_high = fn is not functions.fma and fn is not functions.multiply_add
    fills = [*crossed(kind, kind, N), spread(kind, N)]
    if low_high:
        fills = [spread(kind, N), *_limits(kind)]
    buffers = [given(kind, N, fill) for fill in fills] + [out(result, N)]
    constants = {**shaped("X", "Y", "Z"), "FN": fn}
    return Case(group, f"{fn.__name__}({kind})", carriers.of_three, buffers, constants, **more)


def _limits(kind: str) -> Any:
    """A lower and an upper limit that is not below it; no NaN."""
    return [
        lambda random: random.integers(-8, 0, N).astype(STORED[kind]),
        lambda random: random.integers(0, 9, N).astype(STORED[kind]),
    ]

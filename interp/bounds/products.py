"""Matrix products: exact products, added in any order.

A matrix unit aligns the terms of a sum to the greatest of them with so many bits and cuts off the
rest: each of the terms loses at most 2**(1 - bits) of the greatest, and the result is cut to
float32. So K terms in S steps lose (K + 3 S) * 2**(1 - bits) of the greatest partial sum
together, and no partial sum exceeds the terms of one sign; rounded float32 sums (`fma`) lose less. The schemes that split float32 operands leave out a
documented part of sum |a| |b|. Multiples of one quantum whose sum of sizes fits add exactly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockstep.interp.bounds import documented
from blockstep.interp.bounds.conversions import _ends
from blockstep.interp.bounds.ranges import (
    UNDECIDED,
    Ranged,
    Terms,
    anything,
    finish,
    form,
    quantum,
    widened,
)
from blockstep.interp.bounds.rules import Step, rule
from blockstep.language import numerics
from blockstep.language import types as ty


@rule("dot", always=True)
def dot(step: Step) -> Ranged:
    """The product, added to the third operand if there is one."""
    a, b, *rest = step.operands
    acc = rest[0] if rest else None
    if not a.kind.is_floating() or not step.kind.is_floating():
        return _integers(step)
    precision = step.attributes["precision"] if a.kind.is_fp32() else "exact"
    left, right = (_operand(x, precision) for x in (a, b))
    return _product(step, left, right, acc, precision, a.kind)


def _integers(step: Step) -> Ranged:
    """Exact; in doubt along the rows and columns of elements in doubt."""
    a, b, *rest = step.operands
    doubt = _doubts(a).any(axis=-1)[..., :, None] | _doubts(b).any(axis=-2)[..., None, :]
    if rest:
        doubt = doubt | _doubts(rest[0])
    return anything(step.value, step.kind, np.where(doubt, UNDECIDED, 0))


def _doubts(x: Ranged) -> Any:
    return ~np.broadcast_to(np.asarray(x.fixed, bool), np.shape(x.value))


def _operand(x: Ranged, precision: str) -> tuple[Any, Any]:
    """Numbers that go into products, and how far each may be off."""
    value, low, high = widened(x.value, x.kind), x.lows, x.highs
    if precision in ("tf32", "None"):
        value, low, high = (
            widened(numerics.tf32(np.asarray(end, np.float32)), ty.float32)
            for end in (value, low, high)
        )
    off = np.maximum(high - value, value - low)
    return value, np.where(np.isnan(off), 0.0, off)


def _product(
    step: Step, left: Any, right: Any, acc: Ranged | None, precision: str, kind: ty.dtype
) -> Ranged:
    (a, ea), (b, eb) = left, right
    finite = np.isfinite(a).all(axis=-1)[..., :, None] & np.isfinite(b).all(axis=-2)[..., None, :]
    a, b = (np.where(np.isfinite(x), x, 0.0) for x in (a, b))
    size_a, size_b = np.abs(a), np.abs(b)
    true, sizes = np.matmul(a, b), np.matmul(size_a, size_b)
    off = np.zeros_like(true)
    if np.any(ea) or np.any(eb):
        off = np.matmul(size_a, eb) + np.matmul(ea, size_b + eb)
    grain = np.min(quantum(a), axis=-1)[..., :, None] * np.min(quantum(b), axis=-2)[..., None, :]
    if acc is not None:
        c = widened(acc.value, acc.kind)
        finite = finite & np.isfinite(c)
        c = np.where(np.isfinite(c), c, 0.0)
        reach = np.maximum(acc.highs - c, c - acc.lows)
        off = off + np.where(np.isnan(reach), 0.0, reach)
        true, sizes, grain = true + c, sizes + np.abs(c), np.minimum(grain, quantum(c))
    sizes = sizes + off
    rate, bits = _rate(step, a.shape[-1], precision, kind)
    exact = (off == 0) & (sizes <= 2.0 ** (bits - 1) * np.where(np.isinf(grain), 1.0, grain))
    if precision in documented.SPLITTING and not _unsplit(a, b, precision):
        exact = exact & False
    partial = (sizes + np.abs(true) + off) / 2 * (1 + 1e-9)  # terms of one sign: no sum is larger
    off = off * (1 + 1e-9) + rate * partial
    made = _converted(step, (true, off), sizes, exact, finite, acc)
    made.terms = Terms(rate, sizes, grain, 2.0 ** (bits - 1))
    return made


def _unsplit(a: Any, b: Any, precision: str) -> bool:
    """Whether the first part of every operand is all of it."""
    if precision == "tf32x3":
        return all(bool((numerics.tf32(x.astype(np.float32)) == x).all()) for x in (a, b))
    return all(bool((_bfloat(x) == x).all()) for x in (a, b))


def _bfloat(x: Any) -> Any:
    return widened(numerics.convert(x, "float64", "bfloat16"), ty.bfloat16)


def _rate(step: Step, k: int, precision: str, kind: ty.dtype) -> tuple[float, int]:
    """What a sum may lose of the sum of its terms' sizes, and how many bits a sum holds."""
    if kind.is_fp64():
        return 4 * (k + 1) * 2.0**-53, 53
    bits = documented.ALIGNMENT[kind.itemsize]
    if precision == "ieee":
        return (2 * k + 2) * 2.0**-24, 24
    steps = -(-k // documented.FEWEST_PRODUCTS[kind.itemsize])
    rate = (k + 3 * steps + 3) * 2.0 ** (1 - bits)
    held = min(bits, 24)
    if precision in documented.SPLITTING:
        rate = 6 * rate + documented.SPLITTING[precision]
    if step.kind.is_fp16():  # sums may be held in float16, rounded once an instruction
        rate, held = rate + (steps + 1) * 2.0**-11, 11
    return rate + (k + 1) * 2.0**-52, held


def _converted(
    step: Step, real: Any, sizes: Any, exact: Any, finite: Any, acc: Ranged | None
) -> Ranged:
    """From the sums, which are float32 (or float64), to the result's type."""
    true, off = real
    value = widened(step.value, step.kind)
    special = ~finite & ~np.isfinite(value) & (off == off)
    sums = ty.float64 if step.kind.is_fp64() else ty.float32
    limit = form(ty.float16 if step.kind.is_fp16() else sums).largest
    over = (sizes > limit) & finite
    between = Ranged(
        true, ty.float64, np.where(over, -np.inf, true - off), np.where(over, np.inf, true + off)
    )
    low, high = (
        _ends(between, step.kind, None) if not step.kind.is_fp64() else (between.low, between.high)
    )
    flags = _doubt_flags(step, acc)
    if over.any():
        flags = np.where(over, UNDECIDED, 0).astype(np.uint8) | (0 if flags is None else flags)
    zero = value == 0
    sure = exact & finite & ~over & ~zero | special
    low, high = np.where(exact & zero & ~over, 0.0, low), np.where(exact & zero & ~over, 0.0, high)
    return finish(step.value, step.kind, (low, high), sure, flags)


def _doubt_flags(step: Step, acc: Ranged | None) -> Any:
    a, b = step.operands[:2]
    flags: Any = None
    for x, axis in ((a, -1), (b, -2)):
        if x.flags is not None:
            found = np.expand_dims(
                np.bitwise_or.reduce(np.broadcast_to(x.flags, np.shape(x.value)), axis=axis), axis
            )
            flags = found if flags is None else flags | found
    if acc is not None and acc.flags is not None:
        flags = acc.flags if flags is None else flags | acc.flags
    return flags


@rule("dot_scaled", always=True)
def dot_scaled(step: Step) -> Ranged:
    """Operands are scaled in bfloat16 (or float16), and multiplied as they are then."""
    told = step.attributes
    given = iter(step.operands[2:])
    a_scale, b_scale, acc = (next(given) if there else None for there in told["present"])
    if not all(x.certain for x in (*step.operands[:2], *(s for s in (a_scale, b_scale) if s))):
        return anything(step.value, step.kind, np.uint8(UNDECIDED))
    compute = "float16" if "fp16" in told["formats"] else "bfloat16"
    kind = ty.float16 if compute == "float16" else ty.bfloat16
    scaled = [
        Ranged(
            numerics.scaled_operand(
                x.value, None if s is None else s.value, told["formats"][i], compute,
                k_axis=-1 - i, k_pack=told["packs"][i], fast_math=told.get("fast_math", False),
            ), kind,
        )
        for i, (x, s) in enumerate(zip(step.operands[:2], (a_scale, b_scale), strict=True))
    ]  # fmt: skip
    rest = () if acc is None else (acc,)
    plain = replace(
        step, operands=(*scaled, *rest), attributes={"precision": None, "out": told["out"]}
    )
    left, right = (_operand(x, "exact") for x in scaled)
    return _product(plain, left, right, acc, "exact", kind)

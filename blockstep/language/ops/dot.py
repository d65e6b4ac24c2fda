"""Matrix products: what the matrix units compute (`blockstep.language.numerics.tensorcore`)."""

from __future__ import annotations

from typing import Any

from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.op import Family, define


def _product(a: ty.dtype, b: ty.dtype, *_: ty.dtype, out: ty.dtype, **__: Any) -> ty.dtype:
    return ty.block_type(out, (*a.shape[:-1], b.shape[-1]))


def _dot(
    a: Any, b: Any, acc: Any = None, *, out: ty.dtype, precision: str, imprecise: int = 0
) -> Any:
    """`imprecise` (how many fp8 products may add up in the unit's short accumulator) has no effect:
    the meaning always adds in full float32."""
    return numerics.dot(a, b, acc, precision, out.codegen_name())


DOT = define(
    "dot",
    Family.DOT,
    _product,
    _dot,
    "`b m k, b k n, b m n -> b m n`: the matrix product, added to the third operand if there is one.",
)


def _scaled_product(
    a: ty.dtype, b: ty.dtype, *_: ty.dtype, packs: tuple[bool, bool], out: ty.dtype, **__: Any
) -> ty.dtype:
    rows = a.shape[-2] * (1 if packs[0] else 2)
    columns = b.shape[-1] * (1 if packs[1] else 2)
    return ty.block_type(out, (*a.shape[:-2], rows, columns))


def _dot_scaled(
    a: Any,
    b: Any,
    *more: Any,
    present: tuple[bool, bool, bool],
    formats: tuple[str, str],
    packs: tuple[bool, bool],
    out: ty.dtype,
    fast_math: bool = False,
) -> Any:
    given = iter(more)
    a_scale, b_scale, acc = (next(given) if there else None for there in present)
    return numerics.dot_scaled(
        a,
        a_scale,
        formats[0],
        b,
        b_scale,
        formats[1],
        acc,
        fast_math=fast_math,
        a_k_pack=packs[0],
        b_k_pack=packs[1],
        out=out.codegen_name(),
    )


DOT_SCALED = define(
    "dot_scaled",
    Family.DOT,
    _scaled_product,
    _dot_scaled,
    "`b m k, b k n, m k/g, n k/g, b m n -> b m n`: the product of operands in microscaling formats; "
    "`present` says which of the two scales and the accumulator follow the operands.",
)

"""Matrix products: `dot` and `dot_scaled`, with the operand rules of the compiler for sm_90."""

from __future__ import annotations

import math
import os
from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import bitcast, cast
from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops import dot as ops
from blockstep.language.promotion import to_tensor
from blockstep.language.shape import reshape
from blockstep.language.types import dtype
from blockstep.language.value import tensor

PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_OPERANDS = (ty.int8, ty.uint8, ty.float16, ty.bfloat16, ty.float32, ty.float64)


def _block(x: Any, what: str) -> tensor:
    x = to_tensor(x)
    if not x.type.is_block():
        raise TypeError(f"{what} must be a block, not the scalar {x.type}")
    return x  # type: ignore[no-any-return]


def _check_shapes(a: tensor, b: tensor, acc: tensor | None) -> tuple[int, ...]:
    """The shape of the product. Raises ValueError for ranks or axes that do not fit."""
    left, right = a.type.shape, b.type.shape
    if not len(left) == len(right) >= 2:
        raise ValueError(
            f"input and other must have equal ranks >= 2, not {list(left)} and {list(right)}"
        )
    if left[:-2] != right[:-2]:
        raise ValueError(
            f"input and other must have equal batch shapes, not {list(left)} and {list(right)}"
        )
    if left[-1] != right[-2]:
        raise ValueError(
            "input and other must have equal reduction dimensions: the last axis of "
            f"{list(left)} and the second to last of {list(right)}"
        )
    shape = (*left[:-1], right[-1])
    if acc is not None and acc.type.shape != shape:
        raise ValueError(
            f"accumulator shape is incompatible: {list(acc.type.shape)} for a product of shape "
            f"{list(shape)}"
        )
    return shape


def _check_types(a: dtype, b: dtype) -> None:
    if a.is_fp8() and b.is_fp8():
        return
    for side, found in (("lhs", a), ("rhs", b)):
        if found not in _OPERANDS:
            raise TypeError(f"Unsupported {side} dtype {found}")
    if a is not b:
        raise TypeError(f"Both operands must be same dtype. Got {a} and {b}")


def _check_size(a: tensor, b: tensor) -> None:
    """The matrix units' least sizes: 16 along k, 32 for 8-bit operands."""
    least = 32 if a.type.scalar.primitive_bitwidth == 8 else 16
    if a.type.shape[-1] < least:
        (m, k), n = a.type.shape[-2:], b.type.shape[-1]
        raise ValueError(
            f"Input shapes should have M >= 1, N >= 1 and K >= {least}; here M = {m}, N = {n}, K = {k}"
        )


def _result_type(operand: dtype, out: dtype | None, acc: tensor | None) -> dtype:
    """The product's type, which an accumulator must have (and `out_dtype` name)."""
    if out is None:
        out = ty.float32 if acc is None else acc.type.scalar
    if operand.is_int():
        if operand is not ty.int8:
            raise TypeError("only int8 supported!")
        result = ty.int32
    elif out.is_bf16():
        raise ValueError(
            "out_dtype=bfloat16 is unsupported. Use out_dtype=float32/float16 and cast with "
            "`.to(tl.bfloat16)`"
        )
    elif operand in (ty.float32, ty.bfloat16):
        result = ty.float32
    elif operand is ty.float64:
        result = ty.float64
    elif out in (ty.float32, ty.float16):
        result = out
    else:
        raise TypeError(f"out_dtype is float32 or float16 for {operand} operands, not {out}")
    if acc is not None and not acc.type.scalar is result is out:
        raise TypeError(
            f"the accumulator, out_dtype and the product must have one type; they are "
            f"{acc.type.scalar}, {out} and {result}"
        )
    return result


def _precision(input_precision: Any, allow_tf32: Any, operand: dtype) -> str:
    """How float32 operands are multiplied; TRITON_F32_DEFAULT changes the default."""
    wanted, allowed = unwrap(input_precision), unwrap(allow_tf32)
    if wanted is not None and allowed is not None:
        raise ValueError("Only one of input_precision and allow_tf32 can be specified")
    if wanted is None:
        wanted = "tf32" if allowed or allowed is None else "ieee"
        if operand is ty.float32:
            wanted = os.environ.get("TRITON_F32_DEFAULT") or wanted
    if str(wanted).lower() not in PRECISIONS:
        raise ValueError(f"input_precision must be one of {PRECISIONS}. Got {wanted}")
    return str(wanted).lower()


def _imprecise(limit: Any, operand: dtype, k: int) -> int:
    limit = unwrap(limit)
    if limit is None:
        return 2**30 if operand.is_fp8() else 0
    if operand.is_fp8() and limit > k:
        raise ValueError(f"max_num_imprecise_acc ({limit}) must be <= K ({k})")
    return int(limit)


def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = ty.float32,
) -> Any:
    """`m k, k n -> m n` (or with equal batch axes before): the matrix product, plus `acc`.

    Both operands have one type (two 8-bit floats may differ). int8 gives int32; bfloat16 and
    float32 give float32; float64 gives float64; float16 and 8-bit floats give `out_dtype`, float32
    or float16. `acc` has the result's type. k >= 16, for 8-bit operands 32. float32 operands are
    multiplied as `input_precision` says: "tf32" (default), "tf32x3", "bf16x3", "bf16x6", "ieee";
    `allow_tf32=False` is "ieee". Raises ValueError and TypeError where these rules are broken."""
    a, b = _block(input, "dot's first operand"), _block(other, "dot's second operand")
    acc = unwrap(acc)
    shape = _check_shapes(a, b, acc)
    _check_types(a.type.scalar, b.type.scalar)
    precision = _precision(input_precision, allow_tf32, a.type.scalar)
    _check_size(a, b)
    out = _result_type(a.type.scalar, unwrap(out_dtype), acc)
    imprecise = _imprecise(max_num_imprecise_acc, a.type.scalar, a.type.shape[-1])
    operands = [_flat_batch(_readable(x)) for x in (a, b)]
    if acc is not None:
        operands.append(_flat_batch(acc))
    found = emit(ops.DOT, *operands, out=out, precision=precision, imprecise=imprecise)
    return reshape(found, shape)


def _readable(x: tensor) -> Any:
    """float8e4b15 has no matrix instruction: it is multiplied as float16."""
    return cast(x, ty.float16) if x.type.scalar is ty.float8e4b15 else x


def _flat_batch(x: Any) -> Any:
    """Several batch axes as one."""
    *batch, m, n = x.type.shape
    return reshape(x, (math.prod(batch), m, n)) if len(batch) > 1 else x


_FORMATS = {
    "e2m1": (ty.uint8, ty.uint8),
    "e4m3": (ty.float8e4nv, ty.uint8),
    "e5m2": (ty.float8e5, ty.uint8),
    "bf16": (ty.bfloat16, ty.uint16),
    "fp16": (ty.float16, ty.uint16),
}


def _in_format(x: Any, form: str) -> Any:
    """An operand of `dot_scaled` in its format's own type; unsigned integers hold its bits."""
    if form not in _FORMATS:
        raise ValueError(f"Invalid float format: {form}. It is one of {', '.join(_FORMATS)}")
    x = _block(x, "dot_scaled's operand")
    own, bits = _FORMATS[form]
    if x.type.scalar is own:
        return x
    if x.type.scalar is not bits:
        names = own.name if own is bits else f"{own} or {bits}"
        raise TypeError(f"Unexpected dtype for {form}: it is held as {names}. Got {x.type.scalar}")
    return bitcast(x, own)


def _check_scale(scale: tensor | None, side: str, batch: Any, rows: int, k: int) -> None:
    if scale is None:
        return
    if scale.type.scalar not in (ty.uint8, ty.int8, ty.float8e4nv):
        raise TypeError(f"{side}_scale holds uint8 (e8m0) or fp8e4nv, not {scale.type.scalar}")
    group = 16 if scale.type.scalar is ty.float8e4nv else 32
    if scale.type.shape not in ((rows, k // group), (*batch, rows, k // group)):
        raise ValueError(
            f"{side}_scale must be a tensor of shape [{rows}, {k // group}]. "
            f"Got {list(map(str, scale.type.shape))}"
        )


def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = ty.float32,
) -> Any:
    """`m k, m k/32, k n, n k/32 -> m n` float32: the product of operands in microscaling formats.

    A format is "e2m1" (two values a byte, packed along k unless `*_k_pack` is False), "e4m3",
    "e5m2", "bf16" or "fp16". A scale is uint8 (e8m0, one for 32 values) or float8e4nv (one for 16),
    or None. Raises ValueError and TypeError for shapes, formats and types that do not fit."""
    if unwrap(out_dtype) is not ty.float32:
        raise ValueError("Only float32 is supported for out_dtype at the moment")
    acc, scales = unwrap(acc), (unwrap(lhs_scale), unwrap(rhs_scale))
    formats = str(unwrap(lhs_format)), str(unwrap(rhs_format))
    packs = bool(unwrap(lhs_k_pack)), bool(unwrap(rhs_k_pack))
    a, b = _in_format(lhs, formats[0]), _in_format(rhs, formats[1])
    m, n, k = _scaled_sizes(a, b, formats, packs)
    _check_scale(scales[0], "lhs", a.type.shape[:-2], m, k)
    _check_scale(scales[1], "rhs", b.type.shape[:-2], n, k)
    if acc is not None and acc.type is not ty.block_type(ty.float32, (*a.type.shape[:-2], m, n)):
        raise TypeError(f"dot_scaled adds to a float32 block of shape [{m}, {n}], not {acc.type}")
    more = [x for x in (*scales, acc) if x is not None]
    present = (scales[0] is not None, scales[1] is not None, acc is not None)
    return emit(
        ops.DOT_SCALED,
        a,
        b,
        *more,
        present=present,
        formats=formats,
        packs=packs,
        out=ty.float32,
        fast_math=bool(unwrap(fast_math)),
    )


def _scaled_sizes(
    a: tensor, b: tensor, formats: tuple[str, str], packs: tuple[bool, bool]
) -> tuple[int, int, int]:
    """M, N and K in values (an e2m1 byte holds two, along k or along the other axis)."""
    ranks = len(a.type.shape), len(b.type.shape)
    if ranks not in ((2, 2), (3, 3)):
        raise ValueError(f"Both inputs must be either 2D or 3D; not {a.type} and {b.type}")
    for form, packed in zip(formats, packs, strict=True):
        if not packed and form != "e2m1":
            raise ValueError("only mxfp4 inputs can be packed along a dimension different than K")
    (m, ka), (kb, n) = a.type.shape[-2:], b.type.shape[-2:]
    each = [2 if form == "e2m1" else 1 for form in formats]
    ka, m = (ka * each[0], m) if packs[0] else (ka, m * each[0])
    kb, n = (kb * each[1], n) if packs[1] else (kb, n * each[1])
    if ka != kb:
        raise ValueError(
            "Reduction dimension should pack the same number of elements; they are "
            f"{ka} (lhs: {a.type}) and {kb} (rhs: {b.type})"
        )
    return m, n, ka


__all__ = ["dot", "dot_scaled"]

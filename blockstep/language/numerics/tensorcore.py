"""What the matrix units compute: tf32 rounding, `dot` and the block-scaled `dot_scaled`.

Invariant: the products of two operand elements are exact and are added in float32 (float64 and
int32 operands: in their own type). The order of the additions is the matrix library's and is not
part of the meaning, but it depends only on the shapes of the last two axes: operands are brought
to one memory layout first, so that any number of leading axes gives the same bits.

`dot_scaled` multiplies each group by its scale in bfloat16 (float16 when an operand has that
format) and then behaves as `dot`: sm_90 has no scaled matrix instruction. An e8m0 scale s stands
for 2**(s - 127), except that 0 is zero and 255 is NaN.
Sources: PTX ISA 8.7, `mma` and `wgmma`; OCP Microscaling Formats 1.0; for the three-product
schemes: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores" (2022).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from blockstep.language.numerics.convert import convert, converter
from blockstep.language.numerics.formats import Array, format_of_storage

Single = NDArray[np.float32]

_BF16 = np.dtype(ml_dtypes.bfloat16)
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
_OPERAND = {"e4m3": "float8e4nv", "e5m2": "float8e5", "bf16": "bfloat16", "fp16": "float16"}
_INT8_EXACT = 1024  # products of int8 reach 2**14: this many add exactly in float32


def tf32(x: Any) -> Any:
    """float32 as a tf32 matrix operand is read: the low 13 fraction bits are dropped."""
    return (_bits(x) & np.uint32(0xFFFFE000)).view(np.float32)[()]


def tf32_rna(x: Any) -> Any:
    """float32 rounded to tf32, ties away from zero (`cvt.rna.tf32.f32`)."""
    bits = _bits(x)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    special = (bits & 0x7F800000) == 0x7F800000
    return np.where(special, bits, rounded).view(np.float32)[()]


def _bits(x: Any) -> NDArray[np.uint32]:
    array = np.asarray(x, np.float32)
    return np.ascontiguousarray(array).reshape(array.shape).view(np.uint32)


def dot(
    a: Array, b: Array, acc: Array | None = None, precision: str | None = None, out: str = "float32"
) -> Array:
    """`... m k, ... k n -> ... m n`: the product plus `acc`, in the format named `out`.

    `precision` matters for float32 operands: "tf32" (also None), "tf32x3", "bf16x3", "bf16x6" or
    "ieee". 8-bit codes (`uint8`) are read as float8e4b15.
    """
    with np.errstate(all="ignore"):
        if a.dtype == np.int8:
            product = _integer_product(a, b)
        elif a.dtype == np.float64:
            product = _product(a, b)
        elif a.dtype == np.float32:
            product = _SCHEMES[precision or "tf32"](a, b)
        else:
            product = _product(operand(a), operand(b))
        if acc is not None:
            product = np.add(product, acc.astype(product.dtype, copy=False))
        return np.asarray(converter(_name(product.dtype), out)(product))


@cache
def _name(storage: np.dtype[Any]) -> str:
    return format_of_storage(storage).name


def operand(x: Array) -> Single:
    """A 16-bit or 8-bit float operand as float32, exactly."""
    name = "float8e4b15" if x.dtype == np.uint8 else _name(x.dtype)
    with np.errstate(all="ignore"):
        return np.asarray(converter(name, "float32")(x))


def _product(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(_rows(a), _rows(b)))


def _rows(x: Array) -> Array:
    """`x` with the elements of a row next to each other: the layout decides the order of sums."""
    row, element = x.strides[-2:]
    dense = element == x.itemsize and row >= x.shape[-1] * element
    return x if dense else np.ascontiguousarray(x)


def _integer_product(a: Array, b: Array) -> NDArray[np.int32]:
    wide = np.float32 if a.shape[-1] <= _INT8_EXACT else np.float64
    product = _product(a.astype(wide, order="C"), b.astype(wide, order="C"))
    return product.astype(np.int64).astype(np.int32)


def _tf32(a: Array, b: Array) -> Array:
    return _product(tf32(a), tf32(b))


def _tf32x3(a: Array, b: Array) -> Array:
    """Two tf32 parts of each operand; the product of the two small parts is left out."""
    a_big, b_big = tf32_rna(a), tf32_rna(b)
    a_small, b_small = tf32_rna(a - a_big), tf32_rna(b - b_big)
    small = _product(a_small, b_big) + _product(a_big, b_small)
    return _without_nan(small) + _product(a_big, b_big)


def _without_nan(x: Array) -> Array:
    """The correction terms of an infinity are NaN; the main product alone is right then."""
    return np.where(np.isnan(x), np.float32(0), x)


def _bf16_parts(x: Array, count: int) -> list[Single]:
    parts = []
    for _ in range(count):
        parts.append(x.astype(_BF16).astype(np.float32))
        x = x - parts[-1]
    return parts


def _bf16x3(a: Array, b: Array) -> Array:
    (a1, a2), (b1, b2) = _bf16_parts(a, 2), _bf16_parts(b, 2)
    small = _product(a2, b1) + _product(a1, b2)
    return _without_nan(small) + _product(a1, b1)


def _bf16x6(a: Array, b: Array) -> Array:
    (a1, a2, a3), (b1, b2, b3) = _bf16_parts(a, 3), _bf16_parts(b, 3)
    smallest = _product(a2, b2) + _product(a3, b1) + _product(a1, b3)
    small = smallest + _product(a2, b1) + _product(a1, b2)
    return _without_nan(small) + _product(a1, b1)


_SCHEMES = {
    "tf32": _tf32,
    "tf32x3": _tf32x3,
    "bf16x3": _bf16x3,
    "bf16x6": _bf16x6,
    "ieee": _product,
}


def e2m1(packed: Array, axis: int = -1) -> Single:
    """The 4-bit floats in `packed` (uint8), two a byte along `axis`, low four bits first."""
    codes = np.moveaxis(packed, axis, -1).view(np.uint8)
    pairs = np.stack([codes & 15, codes >> 4], axis=-1)
    values = _E2M1[pairs.reshape(*codes.shape[:-1], 2 * codes.shape[-1])]
    return np.moveaxis(values, -1, axis)


def e8m0(scale: Array) -> Single:
    """Power-of-two scales: code s is 2**(s - 127), 255 is NaN."""
    codes = np.asarray(scale).view(np.uint8)
    lost = codes == 255
    values = np.ldexp(np.float32(1), np.where(lost, 127, codes).astype(np.int32) - 127)
    return np.where(lost, np.float32(np.nan), values).astype(np.float32)


def scaled_operand(
    x: Array,
    scale: Array | None,
    form: str,
    compute: str,
    *,
    k_axis: int,
    k_pack: bool = True,
    fast_math: bool = False,
) -> Array:
    """One operand of `dot_scaled` in the format named `compute`; `k_axis` is -1 (lhs) or -2 (rhs).

    `scale` is `... m k/group`, for the right operand `... n k/group`; bytes (uint8) are e8m0,
    float8e4nv is itself. A packed operand whose pairs do not lie along k has `k_pack` False.
    """
    values = _decoded_operand(x, form, k_axis if k_pack else -3 - k_axis)
    if scale is None:
        return np.asarray(convert(values, "float32", compute))
    factor = _scale_factor(scale, compute)
    nan = (scale.view(np.uint8) == 255) if scale.dtype.kind in "iu" and not fast_math else None
    group = values.shape[k_axis] // scale.shape[-1]
    scaled = convert(values * _spread(factor, group, k_axis), "float32", compute)
    if nan is None:
        return np.asarray(scaled)
    return np.where(_spread(nan, group, k_axis), np.array(np.nan, scaled.dtype), scaled)


def _decoded_operand(x: Array, form: str, axis: int) -> Single:
    if form == "e2m1":
        return e2m1(x, axis)
    name = _OPERAND[form]
    storage = {"float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2}.get(name)
    raw = x.view(storage) if storage is not None and x.dtype.kind in "iu" else x
    return np.asarray(convert(raw, name, "float32"))


def _scale_factor(scale: Array, compute: str) -> Single:
    """Scales as float32 numbers that the compute format holds."""
    if scale.dtype.kind not in "iu":
        return operand(scale)
    bits = scale.view(np.uint8).astype(np.uint32) << 23  # code 0 is zero, 255 infinity
    held = convert(bits.view(np.float32), "float32", compute)
    return np.asarray(convert(held, compute, "float32"))


def _spread(scale: Array, group: int, k_axis: int) -> Array:
    wide = np.repeat(scale, group, axis=-1)
    return wide if k_axis == -1 else np.swapaxes(wide, -1, -2)


def dot_scaled(
    a: Array,
    a_scale: Array | None,
    a_format: str,
    b: Array,
    b_scale: Array | None,
    b_format: str,
    acc: Array | None = None,
    *,
    fast_math: bool = False,
    a_k_pack: bool = True,
    b_k_pack: bool = True,
    out: str = "float32",
) -> Array:
    """`... m k, ... k n -> ... m n` of operands in microscaling formats (`e2m1`: two a byte)."""
    compute = "float16" if "fp16" in (a_format, b_format) else "bfloat16"
    with np.errstate(all="ignore"):
        left = scaled_operand(
            a, a_scale, a_format, compute, k_axis=-1, k_pack=a_k_pack, fast_math=fast_math
        )
        right = scaled_operand(
            b, b_scale, b_format, compute, k_axis=-2, k_pack=b_k_pack, fast_math=fast_math
        )
    return dot(left, right, acc, None, out)

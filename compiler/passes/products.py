"""Products that no matrix unit has become several that one has, written in the language itself.

    dot of float32, tf32x3, bf16x3, bf16x6   the parts of each operand, and the products of parts
    dot_scaled                               operands decoded and scaled in bfloat16 (or float16)
    dot of 8-bit floats below sm_89          operands widened to float16, which holds them

The schemes are those of `blockstep.language.numerics.tensorcore`, where the sources stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blockstep import language as tl
from blockstep.compiler.frontend.recorder import Recorder
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import Function, Operation, Region
from blockstep.language import types as ty
from blockstep.language.op import machine
from blockstep.language.value import tensor

SCHEMES = ("tf32x3", "bf16x3", "bf16x6")
_WIDE = {"e4m3": "fp8e4nv", "e5m2": "fp8e5"}


@dataclass(frozen=True)
class Products:
    """Replaces each such product, before anything is placed."""

    capability: int = 90
    name: str = "products"

    def apply(self, function: Function) -> None:
        """Block IR in and out."""
        for operation in list(function.walk()):
            if operation.name == "dot_scaled":
                _replace(operation, _scaled)
            elif operation.name == "dot":
                self._dot(operation)

    def _dot(self, operation: Operation) -> None:
        a, b = (v.type.scalar for v in operation.operands[:2])
        if a.is_fp32() and operation.attributes.get("precision") in SCHEMES:
            _replace(operation, _scheme)
        elif a.is_fp8() or b.is_fp8():
            if self.capability < 89 or "fp8e4b15" in (a.name, b.name) or a.is_fp8() != b.is_fp8():
                _replace(operation, _widened)


def _replace(operation: Operation, write: Callable[..., Any]) -> None:
    """The operation becomes what `write` records for its operands and attributes."""
    if not left():
        return
    recorder, region = Recorder(), Region()
    recorder.location = operation.location
    token = machine.set(recorder)
    try:
        with recorder.into(region):
            given = [tensor(v, v.type) for v in operation.operands]
            made = write(operation, *given).handle
    finally:
        machine.reset(token)
    for new in list(region.operations):
        new.insert_before(operation)
    made.name = operation.results[0].name
    operation.replace_with([made])
    spend(operation)


def _plain_dot(operation: Operation, a: Any, b: Any, acc: Any = None) -> Any:
    out = operation.results[0].type.scalar
    precision = "tf32" if a.dtype.is_fp32() else None
    return tl.dot(a, b, acc, out_dtype=out, input_precision=precision)


def _widened(operation: Operation, a: Any, b: Any, acc: Any = None) -> Any:
    return _plain_dot(operation, a.to(ty.float16), b.to(ty.float16), acc)


def _scheme(operation: Operation, a: Any, b: Any, acc: Any = None) -> Any:
    scheme = operation.attributes["precision"]
    if scheme == "tf32x3":
        left, right = _tf32_parts(a), _tf32_parts(b)
        pairs = [(1, 0), (0, 1)]
    else:
        count = 2 if scheme == "bf16x3" else 3
        left, right = _bf16_parts(a, count), _bf16_parts(b, count)
        pairs = [(1, 0), (0, 1)] if count == 2 else [(1, 1), (2, 0), (0, 2), (1, 0), (0, 1)]
    small = None
    for i, j in pairs:
        small = _plain_dot(operation, left[i], right[j], small)
    assert small is not None
    main = _plain_dot(operation, left[0], right[0], tl.where(small == small, small, 0.0))
    return main if acc is None else main + acc


def _tf32_parts(x: Any) -> list[Any]:
    big = _rounded(x)
    return [big, _rounded(x - big)]


def _rounded(x: Any) -> Any:
    from blockstep.language.op import OPS, emit

    found = emit(OPS["round_tf32"], x)
    return found


def _bf16_parts(x: Any, count: int) -> list[Any]:
    parts = []
    for _ in range(count):
        parts.append(x.to(ty.bfloat16))
        x = x - parts[-1].to(ty.float32)
    return parts


def _scaled(operation: Operation, a: Any, b: Any, *more: Any) -> Any:
    told = operation.attributes
    given = iter(more)
    a_scale, b_scale, acc = (next(given) if there else None for there in told["present"])
    compute = ty.float16 if "fp16" in told["formats"] else ty.bfloat16
    left = _operand(a, a_scale, told["formats"][0], told["packs"][0], compute, told, 1)
    right = _operand(b, b_scale, told["formats"][1], told["packs"][1], compute, told, 0)
    return tl.dot(left, right, acc, out_dtype=ty.float32)


def _operand(
    x: Any, scale: Any, form: str, k_pack: bool, compute: ty.dtype, told: Any, k_axis: int
) -> Any:
    """One factor in the format it is multiplied in; `k_axis` counts from the last two axes."""
    rank = len(x.shape)
    axis = rank - 2 + k_axis
    values = _decoded(x, form, axis if k_pack else rank - 2 + (1 - k_axis))
    if scale is None:
        return values.to(compute)
    k = int(values.shape[axis])
    group = k // int(scale.shape[-1])
    factor = _spread(_factor(scale, compute), group, k, k_axis)
    scaled = (values * factor).to(compute)
    if not scale.dtype.is_int() or told.get("fast_math"):
        return scaled
    lost = _spread((scale.to(ty.uint8, bitcast=True) == 255).to(ty.int8), group, k, k_axis)
    return tl.where(lost != 0, float("nan"), scaled).to(compute)


def _decoded(x: Any, form: str, axis: int) -> Any:
    """The values as float32."""
    if form == "e2m1":
        return _e2m1(x, axis)
    if form in _WIDE and x.dtype.is_int():
        x = x.to(ty.dtype(_WIDE[form]), bitcast=True)
    return x.to(ty.float32)


def _e2m1(x: Any, axis: int) -> Any:
    """4-bit floats, two a byte along `axis`, the low four bits first: sign, 2 exponent bits, 1
    fraction bit. 2^126 times the number with these bits in a float32's is the value."""
    codes = x.to(ty.uint8, bitcast=True).to(ty.int32)
    pair = tl.join(_code(codes & 15), _code(codes >> 4))
    rank = len(x.shape)
    order = [*range(axis + 1), rank, *range(axis + 1, rank)]
    shape = [int(n) for n in x.shape]
    shape[axis] *= 2
    return tl.reshape(tl.permute(pair, order), shape)


def _code(code: Any) -> Any:
    bits = ((code & 8) << 28) | ((code & 7) << 22)
    return bits.to(ty.float32, bitcast=True) * float(2.0**126)


def _factor(scale: Any, compute: ty.dtype) -> Any:
    """Scales as float32 numbers that the compute format holds; e8m0 code 0 is zero here."""
    if not scale.dtype.is_int():
        return scale.to(ty.float32)
    bits = scale.to(ty.uint8, bitcast=True).to(ty.int32) << 23
    return bits.to(ty.float32, bitcast=True).to(compute).to(ty.float32)


def _spread(scale: Any, group: int, k: int, k_axis: int) -> Any:
    """`… m k/group` to `… m k`; of a right factor, whose scale is `… n k/group`, to `… k n`."""
    rank = len(scale.shape)
    wide = tl.expand_dims(scale, rank)
    shape = [int(n) for n in scale.shape]
    wide = tl.broadcast_to(wide, [*shape, group])
    wide = tl.reshape(wide, [*shape[:-1], k])
    if k_axis == 1:
        return wide
    return tl.permute(wide, [*range(rank - 2), rank - 1, rank - 2])

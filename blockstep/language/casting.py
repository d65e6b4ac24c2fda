"""`cast` and `x.to(...)`: every conversion that the language has."""

from __future__ import annotations

from typing import Any

from blockstep.language import types as ty
from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops import cast as ops
from blockstep.language.ops.elementwise import NE
from blockstep.language.promotion import constant, to_tensor
from blockstep.language.types import dtype
from blockstep.language.value import tensor


def bitcast(x: tensor, target: dtype) -> tensor:
    """The bits of `x` as elements of `target`, which must be as wide.

    Raises ValueError if the widths differ."""
    source = x.type.scalar
    if source is target:
        return x
    if source.is_ptr() or target.is_ptr():
        pointer: tensor = cast(x, target)
        return pointer
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise ValueError(
            f"Cannot bitcast data-type of size {source.primitive_bitwidth} to data-type of size "
            f"{target.primitive_bitwidth}"
        )
    return emit(ops.BITCAST, x, source=source, target=target)  # type: ignore[no-any-return]


def _rounding_mode(source: dtype, target: dtype, rounding: Any) -> str | None:
    rounding = unwrap(rounding)
    if rounding is None:
        return None
    downcast = (
        source.is_floating()
        and target.is_floating()
        and source.primitive_bitwidth > target.primitive_bitwidth
    )
    if not downcast:
        raise ValueError(
            "fp_downcast_rounding should be set only for truncating fp conversions. "
            f"Source scalar type is {source} and destination type is {target}"
        )
    if rounding not in ("rtne", "rtz"):
        raise ValueError(f"fp_downcast_rounding is 'rtne' or 'rtz', not {rounding!r}")
    return str(rounding)


def cast(
    input: Any, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> Any:
    """`n -> n`: `input` with elements of `dtype`.

    `fp_downcast_rounding`: "rtne" (default) or "rtz", for narrowing float casts only.
    `bitcast`: keep the bits instead of the value. Raises ValueError for a rounding where none
    happens and TypeError for a pair of types that has no conversion."""
    if type(input) is tensor and input.type.scalar is dtype:
        return input
    x = to_tensor(input)
    target = unwrap(dtype).scalar
    if unwrap(bitcast):
        return globals()["bitcast"](x, target)
    source = x.type.scalar
    if source is target:
        return x
    rounding = _rounding_mode(source, target, fp_downcast_rounding)
    if source.is_ptr() or target.is_ptr():
        return _pointer_cast(x, source, target)
    for one, other in ((source, target), (target, source)):
        if one.is_int() and other.is_fp8():
            raise TypeError(
                f"cannot cast {x.type} to {target}: fp8 only converts to and from floats"
            )
    if target.is_int1():
        return emit(NE, x, _zero_like(x))
    return emit(ops.CAST, x, source=source, target=target, rounding=rounding)


def _zero_like(x: tensor) -> tensor:
    from blockstep.language.promotion import broadcast_to

    return broadcast_to(constant(0, x.type.scalar), x.type.shape)


def _pointer_cast(x: tensor, source: dtype, target: dtype) -> Any:
    if source.is_ptr() and target.is_ptr():
        result = emit(ops.INT_TO_POINTER, x, target=target)
    elif source.is_ptr():
        if not target.is_int():
            raise TypeError(f"cannot cast {x.type} to {target}")
        if target.is_int1():
            return cast(emit(ops.POINTER_TO_INT, x, target=ty.int64), target)
        if target.primitive_bitwidth != 64:
            raise TypeError(f"a pointer casts to a 64-bit integer, not to {target}")
        result = emit(ops.POINTER_TO_INT, x, target=target)
    else:
        if not source.is_int():
            raise TypeError(f"cannot cast {x.type} to {target}")
        if source.primitive_bitwidth != 64:
            raise TypeError(f"an address has 64 bits: {source} does not cast to a pointer")
        return emit(ops.INT_TO_POINTER, x, target=target)
    result.origin = x.origin
    return result


def to(
    self: Any, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> Any:
    """`n -> n`: the method form of `tl.cast`."""
    return cast(self, dtype, fp_downcast_rounding, bitcast)

"""Arithmetic, comparison, bitwise and selection functions: what the operators of a block do.

Each takes blocks, scalars and Python numbers, brings them to one type and shape
(`blockstep.language.promotion`) and emits one operation.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import bitcast, cast
from blockstep.language.constant import unwrap
from blockstep.language.op import Op, emit
from blockstep.language.ops import elementwise as ops
from blockstep.language.promotion import (
    binary,
    broadcast,
    broadcast_to,
    cast_to,
    constant,
    is_literal,
    literal_type,
    to_tensor,
)
from blockstep.language.value import tensor


class PropagateNan(Enum):
    """Whether a NaN operand wins in `maximum`, `minimum` and `clamp`."""

    NONE = 0
    ALL = 0xFFFF


def add(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`n, n -> n`: x + y; a pointer moves by elements. Raises TypeError for two pointers."""
    a, b = binary(x, y, pointer_x=True, pointer_y=True)
    left, right = a.type.scalar, b.type.scalar
    if left is right and not left.is_ptr():
        return emit(ops.ADD, a, b)
    if left.is_ptr() and right.is_ptr():
        raise TypeError("cannot add pointers together")
    return _move(a, b) if left.is_ptr() else _move(b, a)


def _move(pointer: tensor, offset: tensor) -> Any:
    if not offset.type.scalar.is_int():
        raise TypeError(f"a pointer moves by an integer, not by {offset.type}")
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    return emit(ops.ADDPTR, pointer, offset, itemsize=element.itemsize)


def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`n, n -> n`: x - y; a pointer moves back by elements."""
    a, b = binary(x, y, pointer_x=True)
    if not a.type.scalar._floating and a.type.scalar.is_ptr():
        return _move(a, minus(b))
    return emit(ops.SUB, a, b)


def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`n, n -> n`: x * y."""
    a, b = binary(x, y)
    return emit(ops.MUL, a, b)


def truediv(x: Any, y: Any) -> Any:
    """`n, n -> n`: x / y in floats; integers are divided in float32."""
    a, b = binary(x, y, division=True)
    source_a, source_b = a.type.scalar, b.type.scalar
    if source_a.is_floating() and source_b.is_int():
        b = cast_to(b, source_a)
    elif source_a.is_int() and source_b.is_floating():
        a = cast_to(a, source_b)
    elif source_a.is_int():
        a, b = cast_to(a, ty.float32), cast_to(b, ty.float32)
    return emit(ops.FDIV, a, b)


def floordiv(x: Any, y: Any) -> Any:
    """`n, n -> n`: the integer quotient, **truncated toward zero**. TypeError for floats."""
    a, b = binary(x, y, division=True)
    if not (a.type.scalar.is_int() and b.type.scalar.is_int()):
        raise TypeError(f"unexpected type {a.type.scalar}: `//` divides integers only")
    return emit(ops.IDIV, a, b)


def mod(x: Any, y: Any) -> Any:
    """`n, n -> n`: the remainder with the sign of the dividend."""
    a, b = binary(x, y, division=True)
    return emit(ops.FREM if a.type.scalar.is_floating() else ops.IREM, a, b)


def fdiv(x: Any, y: Any, ieee_rounding: Any = False, approx: Any = False) -> Any:
    """`n, n -> n`: float division; `ieee_rounding` asks for the correctly rounded one. Raises
    TypeError unless both are floats of one type: neither is converted."""
    a, b = binary(to_tensor(x), to_tensor(y), arithmetic=False)
    if not (a.type.scalar.is_floating() and b.type.scalar.is_floating()):
        raise TypeError("both operands of fdiv must have floating scalar type")
    if a.type.scalar is not b.type.scalar:
        raise TypeError(f"fdiv divides floats of one type, not {a.type} by {b.type}")
    return emit(ops.DIV_RN if unwrap(ieee_rounding) else ops.FDIV, a, b)


def _expect(allowed: tuple[ty.dtype, ...], *given: Any) -> None:
    """Raises ValueError for a block or scalar of another type, before any is converted."""
    for x in given:
        if isinstance(x, tensor) and x.type.scalar not in allowed:
            names = [t.name for t in allowed]
            raise ValueError(f"Expected dtype {names} but got {x.type.scalar}")


def div_rn(x: Any, y: Any) -> Any:
    """`n, n -> n`: float32 quotient, rounded to nearest even. Raises ValueError if an operand is
    of another type: it is not converted."""
    _expect((ty.float32,), x, y)
    a, b = binary(x, y)
    _expect((ty.float32,), a)
    return emit(ops.DIV_RN, a, b)


def _bitwise(op: Op, x: Any, y: Any) -> Any:
    a, b = binary(x, y)
    if not a.type.scalar.is_int():
        raise TypeError(
            f"invalid operands of type {a.type} and {b.type}: integers have bits to use"
        )
    return emit(op, a, b)


def and_(x: Any, y: Any) -> Any:
    """`n, n -> n`: bitwise and of integers."""
    return _bitwise(ops.AND, x, y)


def or_(x: Any, y: Any) -> Any:
    """`n, n -> n`: bitwise or of integers."""
    return _bitwise(ops.OR, x, y)


def xor(x: Any, y: Any) -> Any:
    """`n, n -> n`: bitwise exclusive or of integers."""
    return _bitwise(ops.XOR, x, y)


def lshift(x: Any, y: Any) -> Any:
    """`n, n -> n`: x << y."""
    return _bitwise(ops.SHL, x, y)


def rshift(x: Any, y: Any) -> Any:
    """`n, n -> n`: x >> y, arithmetic if x's own type is signed."""
    own = y if isinstance(y, tensor) and not isinstance(x, tensor) else to_tensor(x)
    return _bitwise(ops.ASHR if own.type.scalar.is_int_signed() else ops.LSHR, x, y)


def _as_int1(x: Any) -> tensor:
    x = to_tensor(x)
    return x if x.type.scalar.is_int1() else bitcast(x, ty.int1)


def logical_and(x: Any, other: Any) -> Any:
    """`n, n -> n` int1: both; the operands must be int1."""
    return and_(_as_int1(x), _as_int1(other))


def logical_or(x: Any, other: Any) -> Any:
    """`n, n -> n` int1: either; the operands must be int1."""
    return or_(_as_int1(x), _as_int1(other))


def logical_not(x: Any) -> Any:
    """`n -> n` int1: the opposite; the operand must be int1."""
    return invert(_as_int1(x))


def minus(x: Any) -> Any:
    """`n -> n`: 0 - x, so that -(+0.0) is +0.0, as Triton 3.6 compiles it."""
    x = to_tensor(x)
    if x.type.scalar.is_ptr():
        raise ValueError(f"wrong type argument to unary minus ({x.type.scalar})")
    return emit(ops.SUB, broadcast_to(constant(0, x.type.scalar), x.type.shape), x)


def invert(x: Any) -> Any:
    """`n -> n`: every bit flipped. Raises ValueError for floats and pointers."""
    x = to_tensor(x)
    if not x.type.scalar.is_int():
        raise ValueError(f"wrong type argument to unary invert ({x.type.scalar})")
    ones = 1 if x.type.scalar.is_int1() else (-1 if x.type.scalar.is_int_signed() else None)
    ones = x.type.scalar.highest if ones is None else ones
    return emit(ops.XOR, x, broadcast_to(constant(ones, x.type.scalar), x.type.shape))


def _compare(op: Op, x: Any, y: Any) -> Any:
    """A Python number has a type of its own here: int8 > 300 compares in int32 (Triton 3.6)."""
    if type(x) is not tensor or type(y) is not tensor:
        x, y = unwrap(x), unwrap(y)
        if is_literal(y) and literal_type(y) is not to_tensor(x).type.scalar:
            y = to_tensor(y)
        elif is_literal(x) and literal_type(x) is not to_tensor(y).type.scalar:
            x = to_tensor(x)
    a, b = binary(x, y)
    return emit(op, a, b)


def less_than(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x < y."""
    return _compare(ops.LT, x, y)


def less_equal(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x <= y."""
    return _compare(ops.LE, x, y)


def greater_than(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x > y."""
    return _compare(ops.GT, x, y)


def greater_equal(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x >= y."""
    return _compare(ops.GE, x, y)


def equal(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x == y."""
    return _compare(ops.EQ, x, y)


def not_equal(x: Any, y: Any) -> Any:
    """`n, n -> n` int1: x != y."""
    return _compare(ops.NE, x, y)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`n int1, n, n -> n`: x where the condition holds, else y. Both sides are always computed:
    to keep a load from happening, mask the load."""
    condition = to_tensor(condition)
    if not condition.type.scalar.is_int1():
        condition = cast(condition, ty.int1)
    a, b = binary(x, y, pointer_x=True, pointer_y=True)
    if condition.type.shape == a.type.shape:
        pass
    elif condition.type.shape:
        condition, a = broadcast(condition, a)
        a, b = broadcast(a, b)
    else:
        condition, _ = broadcast(condition, a)
    if a.type.scalar is not b.type.scalar:
        raise TypeError(f"where chooses between values of one type, not {a.type} and {b.type}")
    return emit(ops.SELECT, condition, a, b)


def _nan_rule(propagate_nan: Any) -> bool:
    rule = unwrap(propagate_nan)
    if not isinstance(rule, PropagateNan):
        raise TypeError(f"propagate_nan is a tl.PropagateNan, not {rule!r}")
    return rule is PropagateNan.ALL


def _widen_bf16(x: tensor) -> tensor:
    return cast_to(x, ty.float32) if x.type.scalar is ty.bfloat16 else x


def _extremum(op: Op, x: Any, y: Any, propagate_nan: Any) -> Any:
    a, b = _widen_bf16(to_tensor(x)), _widen_bf16(to_tensor(y))
    a, b = binary(a, b)
    if a.type.scalar.is_int():
        return emit(op, a, b)
    return emit(op, a, b, propagate_nan=_nan_rule(propagate_nan))


def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """`n, n -> n`: the lesser. A Python number keeps its own literal type (Triton 3.6)."""
    return _extremum(ops.MINIMUM, x, y, propagate_nan)


def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """`n, n -> n`: the greater. A Python number keeps its own literal type (Triton 3.6)."""
    return _extremum(ops.MAXIMUM, x, y, propagate_nan)


def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """`n, n, n -> n`: x held between `min` and `max` (floats; bf16 is widened to float32)."""
    a, low, high = (_widen_bf16(to_tensor(v)) for v in (x, min, max))
    low, high = binary(low, high)
    a, low = binary(a, low)
    a, high = binary(a, high)
    if not a.type.scalar.is_floating():
        raise TypeError(f"Unexpected dtype {a.type.scalar}: clamp takes floats")
    return emit(ops.CLAMP, a, low, high, propagate_nan=_nan_rule(propagate_nan))


def umulhi(x: Any, y: Any) -> Any:
    """`n, n -> n`: the upper half of the product of two 32- or 64-bit integers."""
    wide = (ty.int32, ty.int64, ty.uint32, ty.uint64)
    _expect(wide, x, y)
    a, b = binary(x, y)
    _expect(wide, a)
    return emit(ops.UMULHI, a, b)

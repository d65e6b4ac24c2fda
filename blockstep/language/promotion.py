"""Which type an operation on two values has: Triton 3.6's rules, measured (docs/language.md).

`to_tensor` turns a Python number into a value; `binary` brings two operands to one type and shape.
A Python number counts as a *literal*: it takes the other operand's type when its kind (bool < int
< float) is not higher. Errors are TypeError and ValueError, raised at the user's expression.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.constant import unwrap
from blockstep.language.op import Family, define, emit
from blockstep.language.types import dtype
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

CONSTANT = define(
    "constant",
    Family.SOURCE,
    lambda type, **_: type,
    lambda type, value: np.broadcast_to(type.numpy.type(value), type.shape)[()],
    "`-> shape`: a constant, the same in every element.",
)

SPLAT = define(
    "splat",
    Family.SHAPE,
    lambda x, shape: ty.block_type(x.scalar, shape),
    lambda x, shape: np.broadcast_to(
        np.reshape(x, np.shape(x) + (1,) * len(shape)), np.shape(x) + tuple(shape)
    ),
    "`-> shape`: a scalar repeated into a block.",
)


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    lead = np.shape(x)[: np.ndim(x) - len(shape)]
    return np.broadcast_to(x, lead + tuple(shape))


BROADCAST = define(
    "broadcast",
    Family.SHAPE,
    lambda x, shape: ty.block_type(x.scalar, shape),
    _broadcast,
    "`1 n -> m n`: axes of length 1 repeated.",
)

_FLOAT32_MIN_NORMAL = 2.0**-126
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


def literal_type(value: Any) -> dtype:
    """The type a Python number gets on its own (SURFACE: literal typing).

    Raises ValueError for an integer that no 64-bit type holds."""
    if isinstance(value, bool):
        return ty.int1
    if isinstance(value, (int, np.integer)):
        for candidate in (ty.int32, ty.uint32, ty.int64, ty.uint64):
            if candidate.lowest <= value <= candidate.highest:
                return candidate
        raise ValueError(f"Nonrepresentable integer {value}.")
    if isinstance(value, (float, np.floating)):
        size = abs(float(value))
        plain = size == 0.0 or math.isnan(size) or math.isinf(size)
        fits = _FLOAT32_MIN_NORMAL <= size <= _FLOAT32_MAX
        return ty.float32 if plain or fits else ty.float64
    hint = "; was None passed for it? `if x is not None:` guards a use" if value is None else ""
    raise TypeError(f"cannot convert {value!r} of type {type(value).__name__} to tensor{hint}")


def constant(value: Any, type: dtype) -> tensor:
    """A scalar of `type`, or a block with `value` in every element. A float zero is +0.0, also
    where `-0.0` is written (Triton 3.6)."""
    if type.scalar._floating and value == 0:
        value = 0.0
    result: tensor = emit(CONSTANT, type=type, value=value)
    if result.bounds is None and type.scalar._integer:
        result.bounds = (int(value), int(value))
    return result


def to_tensor(x: Any) -> Any:
    """A Python number or constexpr as a value of its own literal type; values pass through."""
    if isinstance(x, tensor) or hasattr(x, "__blockstep_value__"):
        return x
    x = unwrap(x)
    if isinstance(x, (builtins.tuple, list)):
        return tl_tuple([to_tensor(item) for item in x])
    return constant(x, literal_type(x))


def integer_type(a: dtype, b: dtype) -> dtype:
    """The usual conversions of two integer types by rank, with no promotion to int32."""
    if a.int_signedness is b.int_signedness:
        return a if a.int_bitwidth > b.int_bitwidth else b
    signed, unsigned = (a, b) if a.is_int_signed() else (b, a)
    return unsigned if unsigned.int_bitwidth >= signed.int_bitwidth else signed


def computation_type(
    a: dtype, a_literal: bool, b: dtype, b_literal: bool, division: bool = False
) -> dtype:
    """The type that arithmetic on `a` and `b` is done in. Raises TypeError where there is none."""
    if a_literal != b_literal:
        literal, value = (a, b) if a_literal else (b, a)
        if literal.kind().value <= value.kind().value:
            return ty.float32 if division and value in (ty.float16, ty.bfloat16) else value
    for wide in (ty.float64, ty.float32):
        if a is wide or b is wide:
            return wide
    if a is ty.float16 or b is ty.float16:
        return ty.float32 if division else ty.float16
    if a is ty.bfloat16 or b is ty.bfloat16:
        return ty.bfloat16 if a is b and not division else ty.float32
    if a.is_fp8() and b.is_fp8():
        return a if a is b else ty.float16
    if not (a.is_int() and b.is_int()):
        raise TypeError(f"unexpected type {a} and {b}")
    if division and a.int_signedness is not b.int_signedness:
        raise TypeError(
            f"Cannot use /, #, or % with {a} and {b} because they have different signedness; "
            "this is unlikely to result in a useful answer. Cast them to the same signedness."
        )
    return integer_type(a, b)


def is_literal(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.integer, np.floating))


def _check_pointers(x: dtype, y: dtype, allow_x: bool, allow_y: bool) -> None:
    for a, b, allowed in ((x, y, allow_x), (y, x, allow_y)):
        if not a.scalar.is_ptr():
            continue
        other = b.scalar.is_ptr() and a.scalar is not b.scalar
        if not allowed or other or b.scalar.is_floating():
            raise TypeError(f"invalid operands of type {a} and {b}")


def check_fp8(value: Any, target: dtype) -> None:
    """Raises TypeError for a Python number in an 8-bit float: Triton can only write zero there."""
    if target.primitive_bitwidth == 8 and value != 0:
        raise TypeError(
            f"the Python number {value} cannot be {target}: convert the block to float16 or "
            "float32 first"
        )


def _check_literal(value: Any, target: dtype) -> None:
    if not target._integer:
        check_fp8(value, target)
        return
    if isinstance(value, (float, np.floating)):
        return
    if value < 0 and target.is_int_unsigned():
        raise ValueError(
            "Cannot perform a binary operation between an unsigned tensor and a negative scalar. "
            "Perform a explicit cast on one of them."
        )
    if not target.lowest <= value <= target.highest:
        raise ValueError(f"Scalar {value} is out of range for type {target}")


def binary(
    x: Any,
    y: Any,
    *,
    pointer_x: bool = False,
    pointer_y: bool = False,
    arithmetic: bool = True,
    division: bool = False,
) -> tuple[tensor, tensor]:
    """Both operands as values of one element type (if `arithmetic`) and one shape."""
    both = type(x) is tensor and type(y) is tensor
    if both and x.type is y.type and x.type.scalar._floating and not division:
        return x, y
    flags = pointer_x | pointer_y << 1 | arithmetic << 2 | division << 3
    if both:
        plan = _plans.get((x.type, y.type, flags)) or _plan(x.type, y.type, flags)
        target, x_shape, y_shape, stretch = plan
        if target is not None:
            if x.type.scalar is not target:
                x = cast_to(x, target)
            if y.type.scalar is not target:
                y = cast_to(y, target)
        if x_shape is not None:
            kept = x.stretched
            same = kept is not None and kept.type.shape == x_shape
            x = kept if same else emit(SPLAT, x, shape=x_shape)
        elif y_shape is not None:
            kept = y.stretched
            same = kept is not None and kept.type.shape == y_shape
            y = kept if same else emit(SPLAT, y, shape=y_shape)
        return broadcast(x, y) if stretch else (x, y)
    x, y = unwrap(x), unwrap(y)
    number, other = (x, y) if type(y) is tensor else (y, x)
    if type(other) is not tensor or type(number) not in (int, float):
        return _with_literals(x, y, flags)
    known = _literal_plans.get((other.type, type(number), number, flags, other is x))
    target, kind = known if known is not None else _literal_plan(x, y, flags)
    literal = constant(number, kind)
    if target is not None:
        other = cast_to(other, target)
    return (other, literal) if number is y else (literal, other)


_Plan = tuple[Any, Any, Any, bool]
_plans: dict[tuple[dtype, dtype, int], _Plan] = {}
_literal_plans: dict[tuple[Any, ...], tuple[dtype | None, dtype]] = {}
_MOST_PLANS = 4096


def _plan(x: dtype, y: dtype, flags: int) -> _Plan:
    """What brings values of two types together: the element type, the shape that a scalar is
    repeated to, whether axes have to be stretched. Raises what `binary` raises."""
    _check_pointers(x, y, bool(flags & 1), bool(flags & 2))
    target = None
    if flags & 4 and not (x.scalar.is_ptr() or y.scalar.is_ptr()):
        target = computation_type(x.scalar, False, y.scalar, False, bool(flags & 8))
    a, b = x.shape, y.shape
    x_shape, y_shape = (b if not a and b else None), (a if not b and a else None)
    plan = (target, x_shape, y_shape, bool(a and b and a != b))
    _plans[x, y, flags] = plan
    return plan


def _literal_plan(x: Any, y: Any, flags: int) -> tuple[dtype | None, dtype]:
    """For a value and a Python number: the element type that the value is cast to (None: it stays)
    and the type of the number."""
    a, b, target = _literal_types(x, y, flags)
    value_first = type(x) is tensor
    number, kind, shape = (y, b, a.shape) if value_first else (x, a, b.shape)
    if target is not None:
        _check_literal(number, target)
    plan = (target, ty.blocked(target if target is not None else kind, shape))
    if len(_literal_plans) < _MOST_PLANS:
        _literal_plans[a if value_first else b, type(number), number, flags, value_first] = plan
    return plan


def _literal_types(x: Any, y: Any, flags: int) -> tuple[dtype, dtype, dtype | None]:
    """The types of two operands, some of them Python numbers, and the one to compute in."""
    x_literal, y_literal = is_literal(x), is_literal(y)
    a = literal_type(x) if x_literal else to_tensor(x).type
    b = literal_type(y) if y_literal else to_tensor(y).type
    _check_pointers(a, b, bool(flags & 1), bool(flags & 2))
    target = None
    if flags & 4 and not (a.scalar.is_ptr() or b.scalar.is_ptr()):
        division = bool(flags & 8)
        target = computation_type(a.scalar, x_literal, b.scalar, y_literal, division)
    return a, b, target


def _with_literals(x: Any, y: Any, flags: int) -> tuple[tensor, tensor]:
    """`binary` where at least one operand is a Python number."""
    x_literal, y_literal = is_literal(x), is_literal(y)
    a, b, target = _literal_types(x, y, flags)
    left = _operand(x, x_literal, target, a, b.shape)
    return broadcast(left, _operand(y, y_literal, target, b, a.shape))


def _operand(
    value: Any, literal: bool, target: dtype | None, kind: dtype, shape: tuple[int, ...]
) -> tensor:
    if not literal:
        return cast_to(value, target) if target is not None else value
    if target is not None:
        _check_literal(value, target)
    return constant(value, ty.blocked(target if target is not None else kind, shape))


def cast_to(x: tensor, target: dtype) -> tensor:
    """`x` with element type `target` (a plain cast; see `tl.cast` for the options)."""
    if x.type.scalar is target:
        return x
    from blockstep.language.casting import cast

    result: tensor = cast(x, target)
    return result


def broadcast(x: tensor, y: tensor) -> tuple[tensor, tensor]:
    """Both with one shape. A scalar is repeated; blocks of equal rank stretch axes of length 1;
    a block of lower rank gets leading axes of length 1.

    Raises ValueError when two axes differ and neither is 1."""
    a, b = x.type.shape, y.type.shape
    if a == b:
        return x, y
    if not a:
        return emit(SPLAT, x, shape=b), y
    if not b:
        return x, emit(SPLAT, y, shape=a)
    if len(a) != len(b):
        x, y = _lead(x, len(b)), _lead(y, len(a))
        a, b = x.type.shape, y.type.shape
    shape = joined_shape(a, b)
    if a != shape:
        x = emit(BROADCAST, x, shape=shape)
    if b != shape:
        y = emit(BROADCAST, y, shape=shape)
    return x, y


def _lead(x: tensor, rank: int) -> tensor:
    from blockstep.language.shape import expand_dims

    while len(x.type.shape) < rank:
        x = expand_dims(x, 0)
    return x


def joined_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape two blocks of equal rank broadcast to."""
    out = []
    for axis, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n and m != 1 and n != 1:
            raise ValueError(
                f"Cannot make_shape_compatible: incompatible dimensions at index {axis}: {m} and {n}"
            )
        out.append(n if m == 1 else m)
    return builtins.tuple(out)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> tensor:
    """`x` stretched to exactly `shape`. Raises ValueError where an axis does not fit."""
    x = to_tensor(x)
    if x.type.shape == shape:
        return x  # type: ignore[no-any-return]
    if not x.type.shape:
        return emit(SPLAT, x, shape=shape) if shape else x  # type: ignore[no-any-return]
    if len(x.type.shape) != len(shape):
        raise ValueError(f"Cannot broadcast, rank mismatch: {list(x.type.shape)}, {list(shape)}")
    for axis, (m, n) in enumerate(zip(x.type.shape, shape, strict=True)):
        if m not in (1, n):
            raise ValueError(
                f"Cannot broadcast, the expanded size of the tensor ({n}) must match the existing "
                f"size ({m}) at non-singleton dimension {axis}: {list(x.type.shape)}, {list(shape)}"
            )
    return emit(BROADCAST, x, shape=builtins.tuple(shape))  # type: ignore[no-any-return]


__all__ = ["constant", "to_tensor", "binary", "broadcast", "broadcast_to", "cast_to"]

"""Where values come from: program ids, ranges, constants."""

from __future__ import annotations

from typing import Any

from blockstep.language import frames
from blockstep.language import types as ty
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.op import emit
from blockstep.language.ops import creation as ops
from blockstep.language.promotion import broadcast_to, check_fp8, constant, literal_type
from blockstep.language.promotion import to_tensor as to_value
from blockstep.language.types import dtype
from blockstep.language.value import tensor


def _axis(axis: Any, what: str) -> int:
    index = unwrap(axis)
    if index not in (0, 1, 2):
        raise ValueError(f"{what} axis must be 0, 1, or 2 but got {index}")
    return int(index)


def program_id(axis: Any) -> Any:
    """`->` int32: this program instance's index along `axis` (0, 1 or 2) of the grid."""
    return emit(ops.PROGRAM_ID, axis=_axis(axis, "program_id"))


def num_programs(axis: Any) -> Any:
    """`->` int32: the number of program instances along `axis` (0, 1 or 2) of the grid."""
    return emit(ops.NUM_PROGRAMS, axis=_axis(axis, "num_programs"))


def arange(start: Any, end: Any) -> Any:
    """`-> n` int32: start … end - 1, where end - start is a power of two.

    Raises ValueError for run-time bounds, an empty range or another length."""
    first, last = unwrap(start), unwrap(end)
    if isinstance(first, bool) or not isinstance(first, int) or not isinstance(last, int):
        name = frames.name_of(last if isinstance(first, int) else first)
        fix = f"; if {name} is a parameter, annotate it: {name}: tl.constexpr" if name else ""
        raise ValueError(f"arange's arguments must be of type tl.constexpr{fix}")
    if not (-(2**31) <= first <= 2**31 and -(2**31) <= last <= 2**31):
        raise ValueError("arange must fit in int32")
    if last <= first:
        raise ValueError("arange's end argument must be greater than the start argument")
    length = last - first
    if length & (length - 1):
        name, more = frames.name_of(length), 1 << length.bit_length()
        called = f"{name} is {length}" if name else f"it is {length}"
        raise ValueError(
            f"arange's range must be a power of 2, but {called}: take {more} "
            f"(triton.next_power_of_2({name or length})) and mask what is too much"
        )
    result = emit(ops.ARANGE, start=first, end=last)
    result.bounds = (first, last - 1)
    return result


def block_shape(shape: Any) -> tuple[int, ...]:
    """A shape argument as plain integers. Raises TypeError for a run-time length."""
    dims = unwrap(shape)
    if isinstance(dims, (int, constexpr)):
        dims = (dims,)
    out = []
    for n in dims:
        n = unwrap(n)
        if isinstance(n, tensor) or isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"Shape element must have type `constexpr[int]`, got {n!r}")
        out.append(int(n))
    return tuple(out)


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """`-> shape`: a block (or, for the empty shape, a scalar) filled with `value`."""
    dims, value = block_shape(shape), unwrap(value)
    if isinstance(value, tensor):
        if value.shape:
            raise ValueError("full takes a scalar value, not a block")
        filled = value if dtype is None else value.to(unwrap(dtype))
    else:
        if dtype is None:
            raise ValueError("dtype must be specified when value is not a tensor")
        filled = scalar_constant(value, unwrap(dtype))
    return broadcast_to(filled, dims)


def scalar_constant(value: Any, target: dtype) -> tensor:
    """A number as a scalar of `target`. Integers are cut to its width, if a 64-bit integer of its
    signedness holds them.

    Raises TypeError for those that none holds, and for a float that is to be an integer."""
    if target.is_fp8():
        check_fp8(value, target)
        return constant(0.0, ty.float32).to(target)  # type: ignore[no-any-return]
    if target.is_floating():
        return constant(float(value), target)
    if target.is_int1() and isinstance(value, (int, float)):
        return constant(bool(value), target)
    if target.is_int() and value == 0:
        return constant(0, target)
    if target.is_int() and isinstance(value, int):
        return constant(_cut(int(value), target), target)
    if target.is_int():
        raise TypeError(f"{value} is a float: it cannot fill a block of {target}")
    return constant(value, literal_type(value)).to(target)  # type: ignore[no-any-return]


def _cut(value: int, target: dtype) -> int:
    signed = target.is_int_signed()
    widest = ty.int64 if signed else ty.uint64
    if not widest.lowest <= value <= widest.highest:
        raise TypeError(f"{value} is no {widest}: it cannot fill a block of {target}")
    bits = target.int_bitwidth
    cut = value & ((1 << bits) - 1)
    return cut - (1 << bits) if signed and cut > target.highest else cut


def to_tensor(x: Any) -> Any:
    """A Python number as a scalar of its literal type; values pass through."""
    return to_value(x)


__all__ = ["program_id", "num_programs", "arange", "full", "to_tensor"]

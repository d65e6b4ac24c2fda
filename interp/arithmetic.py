"""Where marks are born in arithmetic: wrapped integers, division by zero, shifts, lossy casts.

Wrapping is decided exactly but paid for rarely: integer values carry limits (`tensor.bounds`,
Python integers), most sums and products of which cannot leave the type, and only where the limits
could is the operation repeated on the elements in a wider type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.findings import Mark, MarkCause
from blockstep.interp import marks
from blockstep.interp.forms import compact
from blockstep.language.frames import user_site
from blockstep.language.op import Family, Op
from blockstep.language.types import dtype
from blockstep.language.value import tensor

Limits = tuple[int, int]
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "shl": "<<",
    "iabs": "abs",
    "lshr": ">>",
    "ashr": ">>",
}
_SIGNS |= {"idiv": "//", "irem": "%"}


def limits(x: tensor) -> Limits:
    """The least and the greatest element of an integer value; kept on the value."""
    if x.bounds is None:
        data = compact(x)
        x.bounds = (int(data.min()), int(data.max()))
    return x.bounds


def _sum(a: Limits, b: Limits) -> Limits:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Limits, b: Limits) -> Limits:
    return a[0] - b[1], a[1] - b[0]


def _product(a: Limits, b: Limits) -> Limits:
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


def _shifted(a: Limits, b: Limits) -> Limits:
    if b[0] < 0 or b[1] > 63:
        return -(1 << 64), 1 << 64
    return min(a[0] << b[0], a[0] << b[1]), max(a[1] << b[0], a[1] << b[1])


LIMITS: dict[str, Callable[[Limits, Limits], Limits]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "shl": _shifted,
}


def watch_wrap(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    """After an operation that can wrap: sets the result's limits, or marks the wrapped elements."""
    kind = result.type.scalar
    if not kind._integer or kind.primitive_bitwidth == 1:
        return
    if op.name == "iabs":
        return _watch_abs(op, operands, result, program)
    low, high = LIMITS[op.name](limits(operands[0]), limits(operands[1]))
    if kind.lowest <= low and high <= kind.highest:
        result.bounds = (low, high)
        return
    wrapped = leaves(op.name, operands[0].handle, operands[1].handle, kind)
    if np.any(wrapped):
        marks.add(result, "wrap", wrapped, _born("wrap", op, operands, result, wrapped, program))


def _watch_abs(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    lowest = operands[0].handle == result.type.scalar.lowest
    if result.type.scalar.is_int_signed() and np.any(lowest):
        marks.add(result, "wrap", lowest, _born("wrap", op, operands, result, lowest, program))


def leaves(name: str, x: Any, y: Any, kind: dtype) -> Any:
    """Which elements of x (op) y leave the type, exactly."""
    if kind.int_bitwidth < 64:
        wide = _apply(name, x.astype(np.int64), y.astype(np.int64))
        return (wide < kind.lowest) | (wide > kind.highest)
    return _leaves_64(name, np.asarray(x), np.asarray(y))


def _leaves_64(name: str, x: Any, y: Any) -> Any:
    """Whether undoing what was computed modulo 2^64 gives something else."""
    signed = x.dtype.kind == "i"
    if name == "add":
        r = x + y
        return ((x ^ r) & (y ^ r)) < 0 if signed else r < x
    if name == "sub":
        r = x - y
        return ((x ^ y) & (x ^ r)) < 0 if signed else x < y
    if name == "mul":
        factor = np.where(x == 0, x.dtype.type(1), x)
        lost = (x * y) // factor != np.where(x == 0, x.dtype.type(0), y)
        return lost | ((x == -1) & (y == np.iinfo(x.dtype).min)) if signed else lost
    count = np.clip(y, 0, 63).astype(x.dtype)
    return ((x << count) >> count) != x


def _apply(name: str, x: Any, y: Any) -> Any:
    if name == "add":
        return x + y
    if name == "sub":
        return x - y
    if name == "mul":
        return x * y
    return x << np.clip(y, 0, 31) if x.dtype != object else x * 2 ** np.clip(y, 0, 63)


def watch_division(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    """After an integer `//` or `%`: marks the quotients by zero."""
    divisor = operands[1]
    if divisor.bounds is not None and (divisor.bounds[0] > 0 or divisor.bounds[1] < 0):
        return
    zero = divisor.handle == 0
    if np.any(zero):
        born = _born("division", op, operands, result, zero, program)
        marks.add(result, "division", zero, born)


def watch_shift(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    """After a shift: marks the elements shifted by the width or more, or by less than nothing."""
    count, width = operands[1], operands[0].type.scalar.primitive_bitwidth
    low, high = limits(count)
    if 0 <= low and high < width:
        return
    past = (count.handle < 0) | (count.handle >= width)
    if np.any(past):
        marks.add(result, "shift", past, _born("shift", op, operands, result, past, program))


def watch_left_shift(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    """A left shift may go too far, and bits may leave the type."""
    watch_wrap(op, operands, result, program)
    watch_shift(op, operands, result, program)


def watch_cast(op: Op, operands: tuple[tensor, ...], result: tensor, program: Any) -> None:
    """After a cast to an integer type: marks what the type could not hold."""
    source, target = operands[0].type.scalar, result.type.scalar
    if not target._integer or target.primitive_bitwidth == 1:
        return
    if source._integer:
        low, high = limits(operands[0])
        if target.lowest <= low and high <= target.highest:
            result.bounds = (low, high)
            return
        # A change of sign alone keeps every bit: hashes and packed bytes do it on purpose.
        if target.primitive_bitwidth >= source.primitive_bitwidth:
            return
    lost = does_not_hold(np.asarray(operands[0].handle), source, target)
    if np.any(lost):
        marks.add(result, "cast", lost, _born("cast", op, operands, result, lost, program))


def does_not_hold(data: Any, source: dtype, target: dtype) -> Any:
    """Which elements an integer type cannot hold; of an integer, signed or unsigned."""
    if not source._integer:
        value = data.astype(np.float64)
        return ~((value > target.lowest - 1.0) & (value < target.highest + 1.0))
    width = target.primitive_bitwidth
    if data.dtype.kind == "u":
        return data >= 1 << width
    return (data < -(1 << (width - 1))) | (data >= 1 << width)


def watch_sum(
    op: Op, operands: tuple[tensor, ...], attributes: dict[str, Any], result: Any, program: Any
) -> None:
    """After an integer sum or running sum: marks what left the type, as `watch_wrap` does."""
    single = attributes["region"].single
    kind = operands[0].type.scalar
    if single is None or single.op.name != "add" or type(result) is not tensor:
        return
    if not kind._integer or kind.primitive_bitwidth == 1:
        return
    x, axis = operands[0], attributes["axis"]
    (low, high), n = limits(x), x.type.shape[axis]
    low, high = min(low, low * n), max(high, high * n)
    if kind.lowest <= low and high <= kind.highest:
        result.bounds = (low, high)
        return
    running, reverse = op.family is Family.SCAN, attributes.get("reverse", False)
    exact = exact_sum(np.asarray(x.handle), axis, running, reverse)
    wrapped = np.asarray((exact < kind.lowest) | (exact > kind.highest), bool)
    if np.any(wrapped):
        marks.add(result, "wrap", wrapped, _sum_born(exact, result, wrapped, program))


def exact_sum(data: Any, axis: int, running: bool, reverse: bool) -> Any:
    """The sum or running sums that no width cuts."""
    wide = data.astype(object if data.dtype.itemsize == 8 else np.int64)
    if not running:
        return wide.sum(axis=axis)
    if reverse:
        return np.flip(np.add.accumulate(np.flip(wide, axis), axis=axis), axis)
    return np.add.accumulate(wide, axis=axis)


def _sum_born(exact: Any, result: tensor, wrapped: Any, program: Any) -> Callable[[], Mark]:
    site = user_site()
    first = int(np.argmax(np.ravel(wrapped)))
    right, outcome = np.ravel(np.asarray(exact))[first], _item(result.handle, first)
    return lambda: Mark(
        cause="wrap",
        span=site.span,
        program=program,
        op="sum",
        type_text=str(result.type.scalar),
        exact=str(right),
        result=str(outcome),
    )


def _born(
    cause: MarkCause, op: Op, operands: tuple[tensor, ...], result: tensor, lanes: Any, program: Any
) -> Callable[[], Mark]:
    site = user_site()
    first = int(np.argmax(np.ravel(lanes)))
    values = [_item(x.handle, first) for x in operands]
    outcome = _item(result.handle, first)
    kind = str(result.type.scalar)

    def mark() -> Mark:
        sign = _SIGNS.get(op.name, op.name)
        if cause == "cast":
            sign = "narrow" if operands[0].type.scalar._integer else "convert"
        exact = _exact(op.name, values) if cause == "wrap" else ""
        return Mark(
            cause=cause,
            span=site.span,
            program=program,
            op=sign,
            type_text=kind,
            operands=tuple(_text(x, first, v) for x, v in zip(operands, values, strict=True)),
            exact=exact,
            result=str(outcome),
        )

    return mark


def _text(x: tensor, index: int, value: Any) -> str:
    """As a reader would write it: a float with the digits of its own type."""
    if x.type.scalar._integer:
        return str(value)
    flat = np.ravel(x.handle)
    return str(flat[min(index, flat.size - 1)])


def _item(data: Any, index: int) -> Any:
    flat = np.ravel(data)
    return flat[min(index, flat.size - 1)].item()


def _exact(name: str, values: list[Any]) -> str:
    if name == "iabs":
        return str(abs(values[0]))
    return (
        str(_apply(name, *(np.asarray(v, dtype=object)[()] for v in values)))
        if (name != "shl")
        else str(values[0] << values[1])
    )


WATCHES: dict[str, Callable[[Op, tuple[tensor, ...], tensor, Any], None]] = {
    "add": watch_wrap,
    "sub": watch_wrap,
    "mul": watch_wrap,
    "shl": watch_left_shift,
    "iabs": watch_wrap,
    "lshr": watch_shift,
    "ashr": watch_shift,
    "idiv": watch_division,
    "irem": watch_division,
    "cast": watch_cast,
}

"""Assertions, prints, barriers and hints."""

from __future__ import annotations

from typing import Any

from blockstep.errors import CompileTimeAssertionFailure
from blockstep.language import types as ty
from blockstep.language.complaint import complain
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.elementwise import equal, logical_not, logical_or, not_equal
from blockstep.language.op import emit
from blockstep.language.ops import control as ops
from blockstep.language.promotion import broadcast_to, to_tensor
from blockstep.language.value import tensor


def debug_barrier() -> Any:
    """Orders this program instance's earlier accesses before its later ones."""
    return emit(ops.BARRIER)


def static_assert(cond: Any, msg: Any = "") -> None:
    """Stops the compilation unless a compile-time condition holds.

    Raises CompileTimeAssertionFailure if it does not, TypeError for a run-time value."""
    condition = unwrap(cond)
    if isinstance(condition, tensor):
        raise TypeError("static_assert needs a compile-time condition; use device_assert here")
    if not isinstance(condition, bool):
        raise NotImplementedError(
            "Assertion condition could not be determined at compile-time. "
            "Make sure that it depends only on `constexpr` values"
        )
    if not condition:
        complain(str(unwrap(msg)), CompileTimeAssertionFailure)


def static_print(
    *values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False
) -> None:
    """Prints at compile time; here, whenever the line runs."""
    print(*map(unwrap, values), sep=unwrap(sep), end=unwrap(end), file=unwrap(file), flush=flush)


def device_print(prefix: Any, *args: Any, hex: Any = False) -> Any:
    """Prints `pid (x, y, z) idx (i, j) prefix: value`, a line for each element of each block.

    Raises AssertionError unless `prefix` is an ASCII string."""
    text = unwrap(prefix)
    if not isinstance(text, str) or not text.isascii():
        raise AssertionError(f"the prefix of device_print is ASCII text, not {text!r}")
    values = [to_tensor(a) for a in args]
    label = text.rstrip(" ").removesuffix(":") + ": " if values else text
    if len(label) > 2 and not label.startswith(" "):
        label = " " + label
    return emit(ops.PRINT, *values, prefix=label, hex=bool(unwrap(hex)))


def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> Any:
    """Every element of `cond` (that `mask` keeps) must be true. Always on."""
    condition = to_tensor(unwrap(cond))
    if not condition.dtype.is_int1():
        condition = not_equal(condition, 0)
    guard = None if mask is None else broadcast_to(to_tensor(mask), condition.type.shape)
    return emit(ops.ASSERT, condition, guard, message=unwrap(msg))


def assume(cond: Any) -> Any:
    """A promise to the compiler that the scalar int1 `cond` holds; a false one is reported."""
    condition = to_tensor(unwrap(cond))
    if condition.type is not ty.int1:
        raise TypeError(f"assume takes a scalar int1, not {condition.type}")
    return emit(ops.ASSUME, condition)


def _hint(x: Any, values: Any, hint: str) -> Any:
    claimed = unwrap(values)
    if isinstance(claimed, tensor):
        raise TypeError(f"values must have type `constexpr`, got {claimed.type}")
    claimed = (claimed,) if isinstance(claimed, (int, constexpr)) else tuple(claimed)
    for n in claimed:
        if not isinstance(n, int):
            raise TypeError(f"values elements must have type `constexpr[int]`, got {n!r}")
    x = to_tensor(x)
    if len(claimed) != max(1, len(x.type.shape)):
        raise ValueError(f"Shape of input to {hint} does not match the length of values")
    return emit(ops.HINT, x, hint=hint, values=claimed)


def multiple_of(input: Any, values: Any) -> Any:
    """`n -> n`: a promise that the first element of each contiguous run is a multiple of `values`
    (bytes of elements for pointers)."""
    return _hint(input, values, "multiple_of")


def max_contiguous(input: Any, values: Any) -> Any:
    """`n -> n`: a promise that each run of `values` elements counts up by one."""
    return _hint(input, values, "max_contiguous")


def max_constancy(input: Any, values: Any) -> Any:
    """`n -> n`: a promise that each run of `values` elements is one value."""
    return _hint(input, values, "max_constancy")


def expect_zero(x: Any, mask: Any) -> Any:
    """`n, n int1 -> n`: x, which must be zero where `mask` is on (Triton 3.9)."""
    x = to_tensor(x)
    device_assert(logical_or(equal(x, 0), logical_not(mask)), "expect_zero: x is not zero")
    return x

"""Atomic read-modify-write, compare-and-swap, load and store.

`sem` orders the program instance's other accesses around the atomic ("acq_rel" unless given);
`scope` says who sees that order: "cta" (nobody else), "gpu" (every program instance of the
launch, the default) or "sys". All return the old value; where the mask is off it is undefined.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import bitcast, cast
from blockstep.language.constant import unwrap
from blockstep.language.elementwise import (
    add,
    and_,
    equal,
    less_than,
    logical_and,
    logical_not,
    logical_or,
)
from blockstep.language.memory import check_mask, check_pointer
from blockstep.language.op import emit, machine
from blockstep.language.ops import memory as ops
from blockstep.language.ops.device import GLOBALTIMER
from blockstep.language.promotion import broadcast_to, to_tensor
from blockstep.language.reduction import reduce
from blockstep.language.value import tensor

SEMANTICS = ("acquire", "release", "acq_rel", "relaxed")
SCOPES = ("gpu", "cta", "sys")


def _ordering(sem: Any, scope: Any, default: str = "acq_rel") -> dict[str, str]:
    sem, scope = unwrap(sem) or default, unwrap(scope) or "gpu"
    if sem not in SEMANTICS:
        raise ValueError(f"Memory semantic {sem} not supported; it is one of {SEMANTICS}")
    if scope not in SCOPES:
        raise ValueError(f"Memory semantic {scope} not supported; a scope is one of {SCOPES}")
    return {"sem": sem, "scope": scope}


def _writable(pointer: Any, function: str) -> tuple[tensor, ty.dtype]:
    if not isinstance(pointer, tensor) or not pointer.type.scalar.is_ptr():
        raise ValueError(f"Pointer argument of {function} is {getattr(pointer, 'type', pointer)!s}")
    if pointer.type.scalar.is_const():
        raise ValueError("Cannot store to a constant pointer")
    return pointer, pointer.type.scalar.element_ty  # type: ignore[attr-defined]


def _check_element(element: ty.dtype, name: str) -> None:
    if element in (ty.float16, ty.bfloat16) and name != "add":
        raise ValueError(f"atomic_{name} does not support {element}")
    if element in (ty.int16, ty.uint16) or element.primitive_bitwidth < 16:
        raise ValueError(f"atomic_{name} does not support {element}")


def _combine(name: str, pointer: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
    pointer, element = _writable(pointer, f"atomic_{name}")
    if element.is_ptr():
        raise ValueError(f"atomic_{name} does not support {element}")
    _check_element(element, name)
    val = to_tensor(val)
    if not pointer.type.shape and val.type.shape:
        raise ValueError("Value argument cannot be block type if pointer argument is not a block")
    val = cast(broadcast_to(val, pointer.type.shape), element)
    guard = check_mask(mask, pointer)
    return emit(ops.ATOMIC_RMW, pointer, val, guard, combine=name, **_ordering(sem, scope))


def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: adds `val`; the old values (integers of 32 and 64 bits, floats of 16 to 64)."""
    return _combine("add", pointer, val, mask, sem, scope)


def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: keeps the greater; floats compare as PTX's integer trick does: by sign and
    bits, so that a positive NaN is the greatest."""
    return _combine("max", pointer, val, mask, sem, scope)


def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: keeps the lesser; floats compare by sign and bits."""
    return _combine("min", pointer, val, mask, sem, scope)


def _bits(name: str, pointer: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
    element = _writable(pointer, f"atomic_{name}")[1]
    if not element.is_int():
        raise ValueError(f"atomic_{name} does not support {element}")
    return _combine(name, pointer, val, mask, sem, scope)


def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: bitwise and of integers; the old values."""
    return _bits("and", pointer, val, mask, sem, scope)


def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: bitwise or of integers; the old values."""
    return _bits("or", pointer, val, mask, sem, scope)


def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n, n -> n`: bitwise exclusive or of integers; the old values."""
    return _bits("xor", pointer, val, mask, sem, scope)


def atomic_xchg(
    pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> Any:
    """`n, n -> n`: replaces the elements; the old values."""
    return _combine("xchg", pointer, val, mask, sem, scope)


def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Any:
    """`n, n, n -> n`: writes `val` where the element equals `cmp` (bit for bit); the old values.

    Elements are 16, 32 or 64 bits wide. Raises ValueError for others, and TypeError for a value of
    another type or shape: neither is converted or stretched. The result has the type of `val`."""
    pointer, element = _writable(pointer, "atomic_cas")
    if element.primitive_bitwidth not in (16, 32, 64):
        raise ValueError("atomic_cas only supports elements with width {16, 32, 64}")
    expected, wanted = to_tensor(cmp), to_tensor(val)
    for given in (expected, wanted):
        if given.type.shape != pointer.type.shape or not _same_bits(given.type.scalar, element):
            raise TypeError(
                f"atomic_cas converts and stretches nothing: {given.type} at {pointer.type}"
            )
    swapped = (bitcast(expected, element), bitcast(wanted, element))
    old = emit(ops.ATOMIC_CAS, pointer, *swapped, **_ordering(sem, scope))
    return bitcast(old, wanted.type.scalar)


def _same_bits(one: ty.dtype, other: ty.dtype) -> bool:
    """Of one type in PTX, which knows no signs."""
    if one.is_int() and other.is_int():
        return one.int_bitwidth == other.int_bitwidth
    return one is other


def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """`n -> n`: reads in one step (Triton 3.9); "acquire" unless `sem` says "relaxed"."""
    pointer = check_pointer(pointer, "atomic_load")
    ordering = _ordering(sem, scope, "acquire")
    return emit(ops.ATOMIC_LOAD, pointer, check_mask(mask, pointer), **ordering)


def atomic_store(
    pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> Any:
    """`n, n ->`: writes in one step (Triton 3.9); "release" unless `sem` says "relaxed"."""
    pointer, element = _writable(pointer, "atomic_store")
    val = cast(broadcast_to(to_tensor(val), pointer.type.shape), element)
    ordering = _ordering(sem, scope, "release")
    return emit(ops.ATOMIC_STORE, pointer, val, check_mask(mask, pointer), **ordering)


def atomic_poll(
    pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None
) -> Any:
    """`n, n -> n` int1: waits until each element has its expected value (Triton 3.9).

    Elements are integers of 16 to 64 bits. `timeout_ns` bounds the wait; an element whose time is
    up is false. Every element is read at least once. Raises ValueError for other elements."""
    pointer = check_pointer(pointer, "atomic_poll")
    element = pointer.type.scalar.element_ty
    if not element.is_int() or element.primitive_bitwidth not in (16, 32, 64):
        raise ValueError(f"atomic_poll does not support {element}")
    expected = cast(broadcast_to(expected_value, pointer.type.shape), element)
    limit = unwrap(timeout_ns)
    end = None if limit is None else time.perf_counter_ns() + int(limit)
    matched = equal(atomic_load(pointer, None, sem, scope), expected)

    def again(matched: tensor) -> tensor:
        waiting = logical_not(matched)
        seen = equal(atomic_load(pointer, waiting, sem, scope), expected)
        return logical_or(matched, logical_and(waiting, seen))  # type: ignore[no-any-return]

    records = getattr(machine.get(), "repeat", None)
    if records is not None:  # a compiler: the loop is an operation
        return records(matched, _unfinished(limit), again)
    while not machine.get().truth(_all(matched), "while"):
        if end is not None and time.perf_counter_ns() >= end:
            break
        matched = again(matched)
    return matched


def _unfinished(limit: int | None) -> Callable[[tensor], tensor]:
    """The test of a loop that waits: something is missing, and the time is not up."""
    if limit is None:
        return lambda matched: logical_not(_all(matched))
    end = add(emit(GLOBALTIMER), limit)
    return lambda matched: logical_and(
        logical_not(_all(matched)), less_than(emit(GLOBALTIMER), end)
    )


def _all(x: tensor) -> Any:
    if not x.type.shape:
        return x
    return reduce(x, None, lambda a, b: and_(a, b))

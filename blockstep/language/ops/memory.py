"""Operations that touch memory. They have type rules here and a handler in every machine."""

from __future__ import annotations

from functools import cache
from typing import Any

from blockstep.language import types as ty
from blockstep.language.op import Family, Op, define


@cache
def _pointee(pointer: ty.dtype) -> ty.dtype:
    element: ty.dtype = pointer.scalar.element_ty  # type: ignore[attr-defined]
    return ty.blocked(element, pointer.shape)


def _memory(name: str, rule: Any, doc: str) -> Op:
    return define(name, Family.MEMORY, rule, None, doc)


LOAD = _memory(
    "load",
    lambda pointer, *_, **__: _pointee(pointer),
    "`n, n int1, n -> n`: the elements that the pointers name; `other` where the mask is off.",
)
STORE = _memory(
    "store",
    lambda *_, **__: ty.void,
    "`n, n, n int1 ->`: writes the values where the mask is on.",
)
ATOMIC_RMW = _memory(
    "atomic_rmw",
    lambda pointer, *_, **__: _pointee(pointer),
    "`n, n, n int1 -> n`: reads, combines and writes each element in one step; the old values.",
)
ATOMIC_CAS = _memory(
    "atomic_cas",
    lambda pointer, *_, **__: _pointee(pointer),
    "`n, n, n -> n`: writes where the element equals the expected value; the old values.",
)
ATOMIC_LOAD = _memory(
    "atomic_load",
    lambda pointer, *_, **__: _pointee(pointer),
    "`n, n int1 -> n`: reads each element in one step.",
)
ATOMIC_STORE = _memory(
    "atomic_store",
    lambda *_, **__: ty.void,
    "`n, n, n int1 ->`: writes each element in one step.",
)

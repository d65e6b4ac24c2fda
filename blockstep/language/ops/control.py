"""Operations on the machine itself: assertions, prints, barriers, hints. No values come of them."""

from __future__ import annotations

from blockstep.language import types as ty
from blockstep.language.op import Family, Op, define


def _effect(name: str, doc: str) -> Op:
    return define(name, Family.CONTROL, lambda *_, **__: ty.void, None, doc)


def _hint(name: str, doc: str) -> Op:
    return define(name, Family.CONTROL, lambda x, *_, **__: x, None, doc)


BARRIER = _effect("barrier", "`->`: orders this program instance's accesses before and after it.")
ASSERT = _effect("assert", "`n int1, n int1 ->`: every element (that the mask keeps) must hold.")
PRINT = _effect("print", "`n, … ->`: prints values with the program instance.")
ASSUME = _effect("assume", "`int1 ->`: a promise that the condition holds.")
HINT = _hint("hint", "`n -> n`: a promise on the values: multiples, contiguity, constancy.")

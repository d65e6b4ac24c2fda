"""Structured control flow: the operations that only exist in IR.

    for  lower, upper, step, *carried -> carried     region (index, *carried) ends in yield
    while *carried -> carried                        regions (*carried) ending in condition; in yield
    if   condition -> results                        regions ending in yield
    call *arguments -> results                       of a function that is kept as a call
    return *values                                   ends a function

The index of a `for` runs while it is below the upper bound (above it, for a negative step). The
first region of a `while` ends in `condition test, *values`: while the test holds, the values are the
second region's arguments; the values of the failing test are the results.
"""

from __future__ import annotations

from typing import Any

from blockstep.language.op import Family, Op


def _declared(*_: Any, **__: Any) -> Any:
    raise TypeError("the results of control flow have the types they are declared with")


def _op(name: str, doc: str) -> Op:
    return Op(name, Family.CONTROL, _declared, None, doc)


FOR = _op("for", "`lower, upper, step, *carried -> *carried`: a counted loop.")
WHILE = _op("while", "`*carried -> *carried`: a loop with a run-time test.")
IF = _op("if", "`condition -> *results`: one of two regions.")
CALL = _op("call", "`*arguments -> *results`: a function kept as a call.")
YIELD = _op("yield", "`*values ->`: the values of a region.")
CONDITION = _op("condition", "`test, *values ->`: whether a `while` goes on, and with what.")
RETURN = _op("return", "`*values ->`: the end of a function.")

STRUCTURE: dict[str, Op] = {op.name: op for op in (FOR, WHILE, IF, CALL, YIELD, CONDITION, RETURN)}
TERMINATORS = frozenset({"yield", "condition", "return"})

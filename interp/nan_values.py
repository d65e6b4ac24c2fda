"""NaN among values: births of what an operation made, and marks on the answers of comparisons.

A comparison with NaN is marked (`interp.marks`, "nan"), so that it is reported where it decides
something. A comparison of NaN with NaN (`x == x`) or with an infinity asks whether a value is a
number, and its answer is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.findings import Mark, Program
from blockstep.interp import births, born, marks
from blockstep.interp.births import Register, births_of
from blockstep.language.frames import user_site
from blockstep.language.op import Op
from blockstep.language.value import tensor

_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def follow(
    register: Register,
    program: Program,
    op: Op,
    operands: Operands,
    attributes: Attributes,
    result: Any,
) -> Any:
    """The result of an operation that touches no memory, with its births."""
    results = result if type(result) is tuple else (result,)
    found = []
    for number, x in enumerate(results):
        if not isinstance(x, tensor) or any(x is operand for operand in operands):
            found.append(x)
        elif x.type.scalar._floating:
            lanes = births.nans(x)
            if lanes is not None:
                ids = np.where(lanes, births.moved(op, operands, attributes, results)[number], 0)
                x = _float(register, program, op, operands, attributes, x, lanes, ids)
            found.append(x)
        elif all(births_of(operand) is None for operand in operands):
            found.append(x)
        elif op.name in _SIGNS:
            found.append(_compared(program, op, operands, x))
        else:
            ids = births.moved(op, operands, attributes, results)[number]
            found.append(births.give(x, ids, births.gathered(operands)) if ids.any() else x)
    return tuple(found) if type(result) is tuple else found[0]


def _float(
    register: Register,
    program: Program,
    op: Op,
    operands: Operands,
    attributes: Attributes,
    result: tensor,
    lanes: Any,
    ids: Any,
) -> tensor:
    """A float value with NaN in `lanes`: what no operand brought was born here."""
    origins = births.gathered(operands)
    fresh = lanes & (ids == 0)
    if fresh.any():
        tell = born.by_operation(op, operands, attributes, result, user_site(), program)
        ids = register.add(ids, origins, fresh, tell)
    return births.give(result, ids, origins)


def _compared(program: Program, op: Op, operands: Operands, result: tensor) -> tensor:
    """The answer to a comparison is marked where one side is NaN and the other an ordinary number."""
    x, y = operands
    if not x.type.scalar._floating:
        return result
    sides = [births_of(x), births_of(y)]
    lanes: Any = np.zeros(result.type.shape, bool)
    for side, other in zip(sides, (y, x), strict=True):
        if side is not None:
            lanes = lanes | ((side.ids != 0) & np.isfinite(other.handle))
    if not lanes.any():
        return result
    site, first = user_site(), int(np.argmax(np.ravel(lanes)))
    side = next(s for s in sides if s is not None and np.ravel(s.ids)[first])
    texts = tuple(born.number_text(_item(v, lanes.shape, first)) for v in operands)
    answer = str(bool(_item(result, lanes.shape, first))).lower()

    def mark() -> Mark:
        return Mark(
            "nan", site.span, program, op=_SIGNS[op.name], operands=texts, result=answer,
            birth=side.birth(first),
        )  # fmt: skip

    result = births.unshared(result)
    marks.add(result, "nan", lanes, mark)
    return result


def _item(x: tensor, shape: tuple[int, ...], index: int) -> Any:
    return np.ravel(np.broadcast_to(x.handle, shape))[index]

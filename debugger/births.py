"""Where the first NaN or infinity comes from: an operation that makes one of operands without."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.debugger.moments import Born
from blockstep.findings import Site
from blockstep.language.frames import user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor
from blockstep.options import Program


def born_in(wanted: set[str], program: Program, op: Op, operands: Any, result: Any) -> Born | None:
    """A NaN or infinity in a result of operands that have none. Loads count: memory may hold some."""
    if type(result) is not tensor or not result.type.scalar.is_floating():
        return None
    for kind, find in (("nan", np.isnan), ("inf", np.isinf)):
        if kind not in wanted or op.family is Family.SOURCE:
            continue
        lanes = _lanes(result, find)
        if lanes is None:
            continue
        if any(_has(x, find) for x in operands):
            continue
        return _told(kind, program, op, operands, result, lanes)
    return None


def _lanes(x: tensor, find: Any) -> Any:
    """Which elements are so and defined; None: none."""
    found = find(_numbers(x))
    poison = (x.marks or {}).get("poison")
    if poison is not None:
        found = found & ~np.broadcast_to(poison.lanes, x.type.shape)
    return found if np.any(found) else None


def _numbers(x: tensor) -> Any:
    data = np.asarray(x.handle)
    return data if data.dtype.kind == "f" else data.astype(np.float32)


def _has(x: Any, find: Any) -> bool:
    return type(x) is tensor and x.type.scalar.is_floating() and _lanes(x, find) is not None


def _told(kind: str, program: Program, op: Op, operands: Any, result: tensor, lanes: Any) -> Born:
    flat = int(np.argmax(lanes))
    element = (
        tuple(int(i) for i in np.unravel_index(flat, np.shape(lanes))) if np.shape(lanes) else ()
    )
    values: list[Any] = []
    if op.family in (Family.ELEMENTWISE, Family.SELECT):
        for x in operands:
            if type(x) is tensor:
                values.append(np.broadcast_to(np.asarray(x.handle), result.type.shape)[element])
    site: Site = user_site(3)
    span = site.span
    value = float(_numbers(result)[element])
    return Born(kind, op.name, program, element, value, tuple(values), span.file, span.line)


__all__ = ["born_in"]

"""Whether axis facts are true of concrete elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.compiler.analysis import AxisFacts


def lies(facts: AxisFacts, data: Any, wrapped: bool = False) -> str:
    """The first claim that the elements (any leading axes, then those of the block) do not fulfil;
    "" if there is none. Of values that may have wrapped only aligned runs are claimed."""
    rank = facts.rank
    block = np.asarray(data)
    if block.ndim == 0 or block.ndim < rank:
        block = block.reshape(block.shape + (1,) * (rank - block.ndim))
    for axis in range(rank):
        lines = np.moveaxis(block, axis - rank, -1)
        said = _along(facts, axis, lines, wrapped)
        if said:
            return f"{said} along axis {axis}: {facts} of {data!r}"
    if facts.constant is not None and (block != block.dtype.type(facts.constant)).any():
        return f"constant {facts.constant}: {data!r}"
    if facts.nonnegative and not wrapped and (block < 0).any():
        return f"nonnegative: {data!r}"
    return ""


def _along(facts: AxisFacts, axis: int, lines: Any, wrapped: bool) -> str:
    length = lines.shape[-1]
    equal = min(facts.constancy[axis], length)
    if equal != facts.constancy[axis] or length % equal:
        return "a constancy that is no part of the axis"
    words = _words(lines).reshape(-1, equal)
    if (words != words[:, :1]).any():
        return "constancy"
    if lines.dtype.kind not in "iub":
        return ""
    run, start = facts.contiguity[axis], facts.divisibility[axis]
    if wrapped and run > facts.aligned(axis):
        start, run = facts.starts(axis, facts.aligned(axis)), facts.aligned(axis)
    if run > length or length % run:
        return "a contiguity that is no part of the axis"
    runs = lines.astype(object).reshape(-1, run)
    if run > 1 and (np.diff(runs, axis=-1) != facts.step).any():
        return "contiguity"
    return "divisibility" if (runs[:, 0] % start != 0).any() else ""


def _words(x: Any) -> Any:
    """Floats as their bits: a NaN is equal to itself, and no zero to another."""
    if x.dtype.kind in "iub":
        return x
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")

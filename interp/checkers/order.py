"""Order: outputs that change with the order of the program instances.

The launch is run once for each seed from the same inputs; `compare` holds the outputs against
each other. Floats that differ by no more than the rounding of a reordered sum are told apart from
values that are simply others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.findings import Argument, OrderDependent, Program, Span

Snapshot = Mapping[str, npt.NDArray[Any]]  # by argument
_ROUNDINGS = 64  # of the type, relative to the largest value of an output


def compare(
    runs: Mapping[int, Snapshot],
    arguments: Sequence[Argument],
    *,
    span: Span,
    kernel: str = "",
    grid: Program | None = None,
    launch: int | None = None,
) -> OrderDependent | None:
    """The event, if outputs differ in a bit. `runs` has them by seed, the first seed first."""
    seeds = list(runs)
    if not seeds:
        return None
    first = runs[seeds[0]]
    outputs = [a for a in arguments if any(_differs(first[a.name], runs[s][a.name]) for s in seeds)]
    differing = tuple(
        s for s in seeds if any(_differs(first[a.name], runs[s][a.name]) for a in outputs)
    )
    if not outputs:
        return None
    name = outputs[0].name
    other = next(s for s in seeds if _differs(first[name], runs[s][name]))
    where = tuple(int(i) for i in np.argwhere(_unequal(first[name], runs[other][name]))[0])
    rounding = all(
        _only_rounding(first[a.name], runs[s][a.name]) for a in outputs for s in differing
    )
    return OrderDependent(
        span=span,
        kernel=kernel,
        grid=grid,
        host=span,
        launch=launch,
        outputs=tuple(outputs),
        seeds=len(seeds),
        differing=differing,
        element=where,
        values=(str(first[name][where]), str(runs[other][name][where])),
        differs_by_rounding=rounding,
    )


def _bits(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    dense = np.ascontiguousarray(x)
    return dense.view(np.uint8).reshape(*x.shape, x.dtype.itemsize)


def _unequal(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Elements that differ in a bit."""
    found: npt.NDArray[np.bool_] = (_bits(np.atleast_1d(one)) != _bits(np.atleast_1d(two))).any(
        axis=-1
    )
    return found.reshape(one.shape)


def _differs(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> bool:
    return bool(_unequal(one, two).any())


def _only_rounding(one: npt.NDArray[Any], two: npt.NDArray[Any]) -> bool:
    """Floats that are close for a sum in another order; equal ones are."""
    if not _differs(one, two):
        return True
    try:
        step = float(np.finfo(one.dtype).eps)
    except ValueError:
        return False
    a, b = one.astype(np.float64), two.astype(np.float64)
    if not (np.isfinite(a) | (one == two)).all() or not np.isfinite(b[np.isfinite(a)]).all():
        return False
    finite = np.isfinite(a)
    scale = float(np.abs(a[finite]).max(initial=0.0))
    return bool(np.abs(a[finite] - b[finite]).max(initial=0.0) <= _ROUNDINGS * step * scale)

"""`--seeds N`: one launch in several orders of its program instances, and what differs.

Every order starts from the same memory. The first seed runs last, so that its results are what the
program goes on with.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from blockstep.findings import Argument, Span
from blockstep.interp.checkers import order
from blockstep.interp.memory import AddressSpace, View


class Plan(Protocol):
    """A launch that can be run under any seed."""

    @property
    def kernel(self) -> str: ...

    grid: tuple[int, int, int]
    bound: Any
    host: Span | None
    judge: Any
    number: int

    def run(self, seed: int) -> int: ...


class _Memory:
    """All memory of a launch as it was, with what is known to be written."""

    def __init__(self, space: AddressSpace) -> None:
        self._saved = [
            (storage, storage.data.copy(), None if flags is None else flags.copy())
            for storage, flags in ((s, s.written) for s in space.storages)
        ]

    def restore(self) -> None:
        for storage, data, flags in self._saved:
            if not storage.readonly:
                storage.data[...] = data
            if flags is not None and storage.written is not None:
                storage.written[...] = flags


def try_orders(plan: Plan, first: int, count: int) -> int:
    """Runs seeds `first` to `first + count - 1`; how many program instances the last run finished."""
    before = _Memory(plan.bound.space)
    runs: dict[int, dict[str, Any]] = {}
    finished = 0
    for seed in reversed(range(first, first + count)):
        finished = plan.run(seed)
        runs[seed] = {view.name: _array(view).copy() for view in plan.bound.space.views}
        if seed != first:
            before.restore()
    event = order.compare(
        {seed: runs[seed] for seed in sorted(runs)},
        [Argument.of(view) for view in plan.bound.space.views],
        span=plan.host or Span("", 0),
        kernel=plan.kernel,
        grid=plan.grid,
        launch=plan.number,
    )
    if event is not None:
        plan.judge(event)
    return finished


def _array(view: View) -> Any:
    """The elements of an argument."""
    if view.storage is None or view.size == 0:
        return np.zeros(view.shape, view.dtype.numpy)
    dtype = view.dtype.numpy
    offset = view.base - view.storage.base
    strides = [s * view.itemsize for s in view.strides]
    return np.ndarray(view.shape, dtype, view.storage.data.data, offset, strides)

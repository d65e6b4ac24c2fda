"""Atomics of many program instances, in the order in which one instance after another makes them.

A batch runs an operation for all its instances before the next operation. If every element still
meets its atomics in the order of instances, then nothing tells the two orders apart: other accesses
that collide need an order too, and are suspicious anyway. `Turns` watches that, element by element.
Where an element met them otherwise, only sums and the like of integers, whose old values nobody
uses, come out the same.

The step machine lets an instance wait that repeats an atomic in vain, and others go ahead of it. So
an atomic that an instance may repeat has to change memory each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.memory import Storage
from blockstep.ir import Operation

_ANY_ORDER = frozenset({"add", "and", "or", "xor", "max", "min"})


@dataclass(slots=True, eq=False)
class Turns:
    """Who was the last at each element."""

    _last: dict[int, Any] = field(default_factory=dict)  # ids from 1, by storage
    _kinds: dict[int, set[Any]] = field(default_factory=dict)
    _turned: set[int] = field(default_factory=set)

    def take(
        self, operation: Operation, storage: Storage, dtype: np.dtype[Any], index: Any, ids: Any
    ) -> None:
        """One atomic of a batch: elements and program instances, by lane, in order. Raises
        Suspicion where an element's order is another one and may matter."""
        key = id(storage)
        last = self._last.get(key)
        if last is None:
            last = self._last[key] = np.zeros(storage.nbytes // dtype.itemsize, np.int32)
        if last.size != storage.nbytes // dtype.itemsize:
            raise Suspicion  # atomics of two sizes
        kinds = self._kinds.setdefault(key, set())
        kinds.add((dtype, operation.attributes["combine"]) if any_order(operation, dtype) else None)
        before = last[index]
        if (before > ids).any():
            self._turned.add(key)
        last[index] = np.maximum(before, ids)
        if key in self._turned and (None in kinds or len(kinds) > 1):
            raise Suspicion


def any_order(operation: Operation, dtype: np.dtype[Any]) -> bool:
    """Whether the order of such atomics cannot be seen."""
    combine = operation.attributes.get("combine")
    return combine in _ANY_ORDER and dtype.kind in "iu" and not operation.results[0].uses


def prove_progress(changed: Any, ids: Any) -> None:
    """Raises Suspicion if some program instance changed nothing. No lanes of one instance may
    share an element."""
    if len(np.unique(ids)) != len(np.unique(ids[changed])):
        raise Suspicion

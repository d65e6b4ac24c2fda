"""`History`: the moments of one run, so many as fit.

Invariant: `bytes` stays above `limit` only where the latest moments, of which a few are always kept, take
more by themselves; what goes is the oldest quarter. A session that wants to stand before the oldest
moment runs the launch again: it is deterministic.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

from blockstep.debugger.memory_log import MemoryLog
from blockstep.debugger.moments import Moment, Record
from blockstep.interp.shadows.follow import shadow_of
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

LIMIT = 256 << 20  # bytes
_RECORD = 400  # bytes of a moment and its record, blocks aside
_LEAST = 8  # moments that are kept in any case


class History:
    """Moments in order, and the log of memory that goes with them."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.moments: deque[Moment] = deque()
        self.first = 0  # the number of the oldest moment
        self.log = MemoryLog()
        self._sizes: deque[int] = deque()
        self._locals = 0

    @property
    def count(self) -> int:
        """How many moments there were."""
        return self.first + len(self.moments)

    @property
    def last(self) -> Moment:
        """The latest moment."""
        return self.moments[-1]

    @property
    def bytes(self) -> int:
        """What blocks that only the history keeps, records and the log of memory take, at most."""
        return self._locals + self.log.nbytes

    def __getitem__(self, number: int) -> Moment:
        """Raises IndexError for a moment that is not kept."""
        if not self.first <= number < self.count:
            raise IndexError(number)
        return self.moments[number - self.first]

    def back_from(self, number: int) -> Any:
        """The moments before a number, the latest first."""
        kept = number - self.first
        return islice(reversed(self.moments), len(self.moments) - kept, None)

    def add(self, moment: Moment, before: Record | None) -> None:
        """Keeps a moment. `before`: the record of the same call at the line before, if any."""
        size = _RECORD + _new_bytes(moment.top, before)
        self.moments.append(moment)
        self._sizes.append(size)
        self._locals += size
        while self.bytes > self.limit and len(self.moments) > _LEAST:
            self._forget(max(len(self.moments) // 4, 1))

    def _forget(self, count: int) -> None:
        for _ in range(min(count, len(self.moments) - _LEAST)):
            self.moments.popleft()
            self._locals -= self._sizes.popleft()
            self.first += 1
        self._own(self.moments[0])
        self.log.drop(self.moments[0].written)

    def _own(self, oldest: Moment) -> None:
        """What moments that are gone were counted for is now the oldest one's."""
        size = 0
        record: Record | None = oldest.top
        while record is not None:
            size += _RECORD + _new_bytes(record, None)
            record = record.parent
        self._locals += size - self._sizes[0]
        self._sizes[0] = size


def _new_bytes(record: Record, before: Record | None) -> int:
    """What the locals hold that they did not hold a line earlier."""
    known = before.locals if before is not None else {}
    return sum(_size(v) for name, v in record.locals.items() if known.get(name) is not v)


def _size(value: Any) -> int:
    """What a value takes once somebody has looked at it: a compact form becomes a block then."""
    if isinstance(value, (tuple, list, tl_tuple)):
        return sum(_size(x) for x in getattr(value, "values", value))
    if hasattr(type(value), "__triton_aggregate__"):
        return sum(_size(x) for x in vars(value).values())
    if type(value) is not tensor:
        return int(getattr(value, "nbytes", 0))
    size = value.numel * value.type.scalar.numpy.itemsize
    for taint in (value.marks or {}).values():
        size += int(getattr(taint.lanes, "nbytes", 0))
    return size + int(getattr(shadow_of(value), "nbytes", 0))


__all__ = ["LIMIT", "History"]

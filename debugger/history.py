"""`History`: the moments of one run, so many as fit.

Invariant: `bytes` never stays above `limit`; what goes is the oldest quarter. A session that wants
to stand before the oldest moment runs the launch again: it is deterministic.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

from blockstep.debugger.memory_log import MemoryLog
from blockstep.debugger.moments import Moment, Record

LIMIT = 256 << 20  # bytes
_RECORD = 400  # bytes of a moment and its record, blocks aside


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
        if self.bytes > self.limit and len(self.moments) > 8:
            self._forget(len(self.moments) // 4)

    def _forget(self, count: int) -> None:
        for _ in range(count):
            self.moments.popleft()
            self._locals -= self._sizes.popleft()
        self.first += count
        self.log.drop(self.moments[0].written)


def _new_bytes(record: Record, before: Record | None) -> int:
    """What the locals hold that they did not hold a line earlier."""
    known = before.locals if before is not None else {}
    total = 0
    for name, value in record.locals.items():
        if known.get(name) is not value:
            held = getattr(value, "_handle", None)
            total += int(getattr(held, "nbytes", 0))
    return total


__all__ = ["LIMIT", "History"]

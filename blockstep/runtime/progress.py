"""How far a long launch is, on one line of a terminal; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

QUIET_SECONDS = 1.0  # launches shorter than this show nothing
_EVERY_SECONDS = 0.2


class Progress:
    """Counts finished program instances of one launch."""

    def __init__(self, machine: StepMachine) -> None:
        self._scheduler = machine.scheduler
        self._kernel = machine.kernel
        self._next = time.monotonic() + QUIET_SECONDS
        self._shown = False
        self._terminal = sys.stderr.isatty()

    def step(self) -> None:
        """One more program instance has finished."""
        now = time.monotonic()
        if not self._terminal or now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        self._shown = True
        done, total = self._scheduler.finished + 1, self._scheduler.total
        share = 100 * done // max(total, 1)
        sys.stderr.write(f"\r{self._kernel}: {done} of {total} program instances ({share} %)")
        sys.stderr.flush()

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

"""Shared memory that knows who touched each byte since the last barrier."""

from __future__ import annotations

import numpy as np


class Wrong(AssertionError):
    """The program broke a rule of the machine."""


class Shared:
    """Bytes of shared memory. Between two barriers none may be written by one lane and touched by
    another, atomics aside: that raises Wrong, as do accesses out of bounds or not aligned."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(size, 0xA5, np.uint8)
        self.size = size
        self.epoch()

    def epoch(self) -> None:
        self.writer = np.full(self.size, -1)
        self.reader = np.full(self.size, -1)  # -2: several
        self.adder = np.zeros(self.size, bool)

    def touch(self, lane: int, at: int, size: int, how: str) -> slice:
        span = slice(at, at + size)
        if at < 0 or at + size > self.size or at % min(size, 16):
            raise Wrong(f"lane {lane} accesses {size} bytes at {at} of {self.size}")
        others = self.writer[span]
        if ((others != -1) & (others != lane)).any() or (how != "add" and self.adder[span].any()):
            raise Wrong(f"lane {lane} {how}s byte {at} that another wrote without a barrier")
        readers = self.reader[span]
        if how != "read" and ((readers != -1) & (readers != lane)).any():
            raise Wrong(f"lane {lane} {how}s byte {at} that another read without a barrier")
        if how == "read":
            readers[(readers != -1) & (readers != lane)] = -2
            readers[readers == -1] = lane
        elif how == "write":
            others[:] = lane
        else:
            self.adder[span] = True
        return span

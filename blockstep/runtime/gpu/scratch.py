"""Scratch memory for launches: what a kernel that makes tensor maps writes them to.

Kernels of one stream follow each other and use the same memory, which grows as it has to. Launches
that may begin before the one ahead of them is over (`launch_pdl`) take turns with memory of their own.
A launch that is captured into a graph gets its own too, since the graph may run beside that stream.

Invariant: memory that was handed out is never given back, for a kernel that is under way or a graph
may use it; so each growth at least doubles it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.loading import Loaded

LEAST = 1 << 16  # bytes of an allocation
TURNS = 8  # launches of a stream that may be under way at a time
_PER_THREAD = 2  # the default stream that each thread has its own of


class Scratch:
    """The scratch memory of all contexts and streams."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._kept: dict[tuple[int, int, int, int], tuple[int, int]] = {}  # address and bytes
        self._turns = itertools.count()

    def of(self, loaded: Loaded) -> Callable[[int, int, int, int], int]:
        """What gives the address for launches of a kernel: `give(x, y, z, stream)`, for a grid of
        program instances."""
        binary = loaded.binary
        each = binary.scratch * binary.num_ctas

        def give(x: int, y: int, z: int, stream: int) -> int:
            size = each * x * y * z
            with self._driver.entered(loaded.device.ordinal):
                if self._driver.capturing(stream):
                    return self._captured(loaded, size)
                turn = next(self._turns) % TURNS + 1 if binary.launch_pdl else 0
                return self._usual(loaded, size, stream, turn)

        return give

    def _usual(self, loaded: Loaded, size: int, stream: int, turn: int) -> int:
        thread = threading.get_ident() if stream == _PER_THREAD else 0
        key = loaded.context, stream, thread, turn
        address, room = self._kept.get(key, (0, 0))
        if room < size:
            room = max(size, 2 * room, LEAST)
            address = self._allocated(loaded, room)
            self._kept[key] = address, room
        return address

    def _allocated(self, loaded: Loaded, size: int) -> int:
        tried, kernel = f"allocating {size} bytes of scratch memory", loaded.binary.name
        return int(self._driver.call(tried, self._driver.api.cuMemAlloc, size, kernel=kernel))

    def _captured(self, loaded: Loaded, size: int) -> int:
        """Memory for the graph alone. It is allocated beside the capture, which the driver has to
        be told."""
        api = self._driver.api
        mode: Any = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        tried = "allocating beside a capture"
        before = self._driver.call(tried, api.cuThreadExchangeStreamCaptureMode, mode)
        try:
            return self._allocated(loaded, max(size, 1))
        finally:
            self._driver.call(tried, api.cuThreadExchangeStreamCaptureMode, before)


__all__ = ["Scratch"]

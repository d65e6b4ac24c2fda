"""Scratch memory for launches: what a kernel that makes tensor maps writes them to.

Kernels of one stream follow each other and use the same memory, which grows as it has to. A launch
that is captured into a graph gets memory of its own, since the graph may run beside that stream.

Invariant: memory that was handed out is never given back, for a kernel that is under way or a graph
may use it; so each growth at least doubles it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.loading import Loaded

LEAST = 1 << 16  # bytes of an allocation
_PER_THREAD = 2  # the default stream that each thread has its own of


class Scratch:
    """The scratch memory of all contexts and streams."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._kept: dict[tuple[int, int, int], tuple[int, int]] = {}  # address and bytes

    def of(self, loaded: Loaded) -> Callable[[int, int, int, int], int]:
        """What gives the address for launches of a kernel: `give(x, y, z, stream)`, for a grid of
        program instances."""
        binary = loaded.binary
        each = binary.scratch * binary.num_ctas

        def give(x: int, y: int, z: int, stream: int) -> int:
            size = each * x * y * z
            if self._driver.capturing(stream):
                return self._captured(loaded, size)
            thread = threading.get_ident() if stream == _PER_THREAD else 0
            key = loaded.context, stream, thread
            address, room = self._kept.get(key, (0, 0))
            if room < size:
                room = max(size, 2 * room, LEAST)
                address = self._allocated(loaded, room)
                self._kept[key] = address, room
            return address

        return give

    def _allocated(self, loaded: Loaded, size: int) -> int:
        tried = f"allocating {size} bytes of scratch memory"
        kernel = loaded.binary.name
        with self._driver.entered(loaded.device.ordinal):
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

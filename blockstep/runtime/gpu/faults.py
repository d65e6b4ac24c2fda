"""Fault records: how a `device_assert` that does not hold gets from the device to the host.

Every kernel with assertions has a record of its own in host memory that the device can write to.
The first lane that fails sets the flag (an atomic compare and swap) and writes the rest; the host
looks after launches that wait, before the next launch, and in `synchronize`.

Invariant: a record's memory is never given back, so that a graph may go on writing to it. Looking
is reading host memory: nothing waits for the device, and nothing is copied.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

from blockstep.compiler.faults import RECORD
from blockstep.errors import DeviceAssertionError
from blockstep.runtime.gpu.binary import Binary, Site
from blockstep.runtime.gpu.driver import Driver

BYTES = 64  # of a record: no two in one cache line
PER_PAGE = 64


class Record(NamedTuple):
    """A record as the device left it."""

    flag: int
    site: int
    x: int
    y: int
    z: int
    element: int


class KernelAssertion(DeviceAssertionError):
    """A `device_assert` of `kernel` did not hold in program instance `program`."""

    def __init__(self, kernel: str, record: Record, site: Site | None) -> None:
        super().__init__(kernel, record, site)
        self.kernel, self.record, self.site = kernel, record, site
        self.program = (record.x, record.y, record.z)

    def __str__(self) -> str:
        message = self.site.message if self.site is not None else ""
        lines = [message or f"a device_assert of `{self.kernel}` does not hold"]
        if self.site is not None:
            span = self.site.span
            lines.append(f"  --> {span.file}:{span.line}:{span.column} in {self.kernel}")
        element = f", element {self.record.element}" if self.record.element >= 0 else ""
        lines.append(f"   = program instance {self.program}{element}")
        return "\n".join(lines)


@dataclass(slots=True, eq=False)
class Slot:
    """The record of one kernel in one context; `address` is the device's."""

    binary: Binary
    address: int
    words: Any  # int32 array over the record

    def check(self) -> None:
        """Raises KernelAssertion if a lane has failed, and makes the record ready again."""
        if self.words[0]:
            record = Record(*self.words)
            self.words[:] = [0] * len(RECORD)
            known = 0 <= record.site < len(self.binary.sites)
            site = self.binary.sites[record.site] if known else None
            raise KernelAssertion(self.binary.name, record, site)


class Faults:
    """The records of all contexts."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.slots: list[Slot] = []
        self._by_kernel: dict[tuple[int, int], Slot] = {}
        self._free: dict[int, list[tuple[int, int]]] = {}  # context -> (host, device) addresses

    def slot(self, binary: Binary, context: int) -> Slot:
        """The record of a kernel. The context must be current."""
        key = id(binary), context
        found = self._by_kernel.get(key)
        if found is None:
            host, device = self._place(context)
            words = (ctypes.c_int32 * len(RECORD)).from_address(host)
            found = self._by_kernel[key] = Slot(binary, device, words)
            self.slots.append(found)
        return found

    def _place(self, context: int) -> tuple[int, int]:
        free = self._free.setdefault(context, [])
        if not free:
            free += self._page()
        return free.pop()

    def _page(self) -> list[tuple[int, int]]:
        api, tried, size = self._driver.api, "making fault records", BYTES * PER_PAGE
        flags = api.CU_MEMHOSTALLOC_DEVICEMAP | api.CU_MEMHOSTALLOC_PORTABLE
        host = int(self._driver.call(tried, api.cuMemHostAlloc, size, flags))
        device = int(self._driver.call(tried, api.cuMemHostGetDevicePointer, host, 0))
        ctypes.memset(host, 0, size)
        return [(host + at, device + at) for at in range(0, size, BYTES)]

    def check(self) -> None:
        """Raises KernelAssertion for the first record that has one."""
        for slot in self.slots:
            if slot.words[0]:
                slot.check()

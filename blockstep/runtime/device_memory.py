"""Device memory for a machine on the host: copied in when bound, and what changed is copied back.

Addresses stay the device's, so pointers that the host stored in device memory mean what they meant.

Invariant: what goes back begins and ends with bytes that changed; memory that nothing changed is
not written. Memory that two arguments share is copied once. Calls: CUDA driver API, `cuMemcpyDtoH`,
`cuMemcpyHtoD`, `cuStreamSynchronize`, `cuPointerGetAttribute`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from blockstep.interp.memory import AddressSpace, Storage
from blockstep.interp.owners import Memory
from blockstep.interp.unwritten import Bytes
from blockstep.runtime.pointer_device import ordinal_of

_GAP = 4096  # bytes: changes nearer to each other than this go back in one copy


class Driver(Protocol):
    """The three things that are asked of a device."""

    def read(self, address: int, into: Bytes) -> None:
        """Copy from the device, after everything that was enqueued before."""

    def write(self, address: int, data: Bytes) -> None:
        """Copy to the device."""

    def wait(self, address: int, stream: int | None) -> None:
        """Wait for a stream, or for the whole device that the address belongs to."""


class CudaDriver:
    """`Driver` through `cuda.bindings.driver`."""

    def __init__(self, api: Any = None) -> None:
        self._api = importlib.import_module("cuda.bindings.driver") if api is None else api
        self._check(self._api.cuInit(0))

    def read(self, address: int, into: Bytes) -> None:
        """Copy `into.size` bytes from the device."""
        self._enter(address)
        self._check(self._api.cuMemcpyDtoH(into.ctypes.data, address, into.nbytes))

    def write(self, address: int, data: Bytes) -> None:
        """Copy `data` to the device."""
        self._enter(address)
        self._check(self._api.cuMemcpyHtoD(address, data.ctypes.data, data.nbytes))

    def wait(self, address: int, stream: int | None) -> None:
        """Wait for `stream`; None and 0 wait for everything in the context."""
        self._enter(address)
        if stream:
            self._check(self._api.cuStreamSynchronize(stream))
        else:
            self._check(self._api.cuCtxSynchronize())

    def _enter(self, address: int) -> None:
        """Make the context current that the memory belongs to, if this thread has none."""
        if int(self._check(self._api.cuCtxGetCurrent())):
            return
        ordinal = self._check(ordinal_of(self._api, address))
        device = self._check(self._api.cuDeviceGet(ordinal))
        self._check(
            self._api.cuCtxSetCurrent(self._check(self._api.cuDevicePrimaryCtxRetain(device)))
        )

    def _check(self, answer: tuple[Any, ...]) -> Any:
        status = answer[0]
        if int(status) != 0:
            raise RuntimeError(f"CUDA driver: {getattr(status, 'name', status)}")
        return answer[1] if len(answer) > 1 else None


@dataclass(slots=True)
class DeviceArrays:
    """The device storages of one launch."""

    driver: Driver | None = None
    _storages: list[Storage] = field(default_factory=list)
    _before: dict[tuple[int, int], Bytes] = field(default_factory=dict)

    def storage(
        self, memory: Memory, name: str, space: AddressSpace, stream: int | None
    ) -> Storage:
        """The storage of a stretch of device memory, with its bytes on the host."""
        held = space.holding(memory)
        if held is not None:
            return held
        if memory.nbytes:
            self._ready().wait(memory.base, stream)
        storage = space.add(Storage(memory, name, reach=self._copy_in))
        if storage not in self._storages:
            self._storages.append(storage)
        return storage

    def _ready(self) -> Driver:
        if self.driver is None:
            self.driver = CudaDriver()
        return self.driver

    def _copy_in(self, base: int, nbytes: int, owner: Any) -> Bytes:
        data = np.empty(nbytes, np.uint8)
        if nbytes:
            self._ready().read(base, data)
        self._before[base, nbytes] = data.copy()
        return data

    def copy_again(self) -> None:
        """After a kernel on the device itself: what is there now, on the host."""
        for storage in self._storages:
            if storage.nbytes:
                self._ready().wait(storage.base, None)
                self._ready().read(storage.base, storage.data)

    def put_back(self) -> None:
        """The device's memory as it was when it was bound."""
        for (base, nbytes), before in self._before.items():
            if nbytes:
                self._ready().write(base, before)

    def copy_back(self) -> int:
        """Write what changed to the device; how many bytes were sent."""
        sent = 0
        for storage in self._storages:
            before = self._before.get((storage.base, storage.nbytes))
            if before is None or storage.data.size != before.size:
                continue
            for start, stop in changed_runs(before, storage.data):
                self._ready().write(storage.base + start, storage.data[start:stop])
                sent += stop - start
            before[:] = storage.data
        return sent


def changed_runs(before: Bytes, after: Bytes) -> list[tuple[int, int]]:
    """Ranges that hold all bytes that differ, and begin and end with one."""
    where = np.flatnonzero(before != after)
    if where.size == 0:
        return []
    cuts = np.flatnonzero(np.diff(where) > _GAP)
    starts = where[np.concatenate(([0], cuts + 1))]
    stops = where[np.concatenate((cuts, [where.size - 1]))] + 1
    return [(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]

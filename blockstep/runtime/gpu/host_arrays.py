"""Arrays of the host as arguments of a kernel on a device: copied there, and back after it ran.

Invariant: all of the memory behind an array is copied, once, so that arguments that overlap still
do on the device; an address on the device has the alignment that it has on the host. What the
kernel does not write (where that is known) and what the host may not write is not copied back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np

from blockstep.interp.memory import AddressSpace, Storage, View
from blockstep.interp.owners import Memory
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.device_memory import DeviceArrays
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.failures import HostTensor

ALIGNMENT = 256  # bytes; cuMemAlloc gives this much


class InPlace(DeviceArrays):
    """Device memory that is used where it is: nothing is waited for, and nothing copied."""

    def storage(
        self, memory: Memory, name: str, space: AddressSpace, stream: int | None
    ) -> Storage:
        """The storage of a stretch of device memory, without its bytes."""
        held = space.holding(memory)
        if held is not None:
            return held
        storage = space.add(Storage(memory, name, reach=_nothing))
        if storage not in self._storages:
            self._storages.append(storage)
        return storage

    @property
    def storages(self) -> list[Storage]:
        """The storages in device memory."""
        return self._storages

    def holds(self, storage: Storage | None) -> bool:
        """Whether a storage is device memory."""
        return any(storage is mine for mine in self._storages)

    def copy_back(self) -> int:
        """The kernel wrote to the arrays themselves."""
        return 0


def _nothing(base: int, nbytes: int, owner: Any) -> Any:
    return np.empty(0, np.uint8)


@dataclass(slots=True, eq=False)
class Copies:
    """Copies of host memory on a device, for one launch: a `with` that frees them at its end.

    The device's context must be current."""

    driver: Driver
    kernel: str
    stream: int
    _placed: dict[int, tuple[Storage, int, int]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        free = self.driver.api.cuMemFree
        for _, allocation, _ in self._placed.values():
            if error is None:
                self.driver.call("freeing a copy", free, allocation)
            else:
                free(allocation)  # a lost context frees nothing: the first error is the one to tell
        self._placed.clear()

    def address(self, view: View) -> int:
        """Where the first element of a host array is on the device."""
        storage = view.storage
        if storage is None or not storage.nbytes:
            return view.base
        if id(storage) not in self._placed:
            self._placed[id(storage)] = self._copy(storage)
        return self._placed[id(storage)][2] + view.base - storage.base

    def _copy(self, storage: Storage) -> tuple[Storage, int, int]:
        api, shift = self.driver.api, storage.base % ALIGNMENT
        tried = f"copying `{storage.name}` ({storage.nbytes} bytes) to the device"
        size = storage.nbytes + shift
        allocation = int(self.driver.call(tried, api.cuMemAlloc, size, kernel=self.kernel))
        place = allocation + shift
        # In the order of the stream: a plain copy returns before pageable memory has arrived.
        copy, nbytes = api.cuMemcpyHtoDAsync, storage.nbytes
        self.driver.call(tried, copy, place, storage.base, nbytes, self.stream, kernel=self.kernel)
        return storage, allocation, place

    def copy_back(self, writes: Collection[str] | None) -> None:
        """After the kernel: bring to the host what it may have written."""
        for storage, _, place in self._placed.values():
            if storage.readonly or not _written(storage, writes):
                continue
            tried = f"copying `{storage.name}` back"
            copy = self.driver.api.cuMemcpyDtoH
            self.driver.call(tried, copy, storage.base, place, storage.nbytes, kernel=self.kernel)

    def __len__(self) -> int:
        return len(self._placed)


def _written(storage: Storage, writes: Collection[str] | None) -> bool:
    """Whether the kernel may have written to a storage, and the host lets it."""
    return any(v.writeable and (writes is None or v.name in writes) for v in storage.views)


def devices_hold(bound: Bound, view: View) -> bool:
    """Whether the memory of a view is a device's."""
    devices = bound.binding.devices
    return isinstance(devices, InPlace) and devices.holds(view.storage)


def refuse_host_tensors(bound: Bound) -> None:
    """Raises HostTensor for a tensor of torch that lies on the host, unless its memory is pinned:
    a device that Triton launches on cannot read it. Arrays of NumPy are copied."""
    for index, argument in enumerate(bound.arguments):
        for part in argument.walk():
            place = getattr(getattr(part.value, "device", None), "type", None)
            if part.view is not None and place == "cpu" and not part.value.is_pinned():
                raise HostTensor(part.name, index)


def arrays_of(bound: Bound) -> list[Argument]:
    """The arguments with memory: arrays, descriptors, and what is inside tuples."""
    return [part for a in bound.arguments for part in a.walk() if part.view is not None]

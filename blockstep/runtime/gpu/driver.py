"""The CUDA driver: contexts, devices, and calls whose failures are told as exceptions of ours.

Everything goes through `cuda.bindings.driver`, or an object with the same functions that a test
hands over.

Invariant: the caller's current context is used where it is one of the wanted device; elsewhere the
device's primary context is, which is the one that torch, CuPy and the CUDA runtime use. Whatever
context was current stays current.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from blockstep.runtime.gpu.failures import GPUError, failure
from blockstep.runtime.pointer_device import ordinal_of

LAUNCH_EX = 11080  # a version of CUDA that has `cuLaunchKernelEx`
RECENT = 4  # kernels that are remembered, to say which one lost a context
_ATTRIBUTES = {
    "multiprocessors": "MULTIPROCESSOR_COUNT",
    "shared_limit": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "shared_per_multiprocessor": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "threads_limit": "MAX_THREADS_PER_BLOCK",
    "registers": "MAX_REGISTERS_PER_BLOCK",
    "l2": "L2_CACHE_SIZE",
    "clock": "CLOCK_RATE",
    "memory_clock": "MEMORY_CLOCK_RATE",
    "memory_bus": "GLOBAL_MEMORY_BUS_WIDTH",
}


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU, as the driver describes it. Sizes are bytes, clocks kHz, widths bits."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    shared_limit: int
    shared_per_multiprocessor: int
    threads_limit: int
    registers: int
    l2: int
    clock: int
    memory_clock: int
    memory_bus: int
    grid_limits: tuple[int, int, int]


class Driver:
    """The driver of this process. Raises GPUError where there is no driver or no device."""

    def __init__(self, api: Any = None) -> None:
        self.api = importlib.import_module("cuda.bindings.driver") if api is None else api
        self.recent: deque[str] = deque(maxlen=RECENT)
        self.call("starting the CUDA driver", self.api.cuInit, 0)
        self.count = int(self.call("counting the devices", self.api.cuDeviceGetCount))
        self._devices: dict[int, Device] = {}
        self._primary: dict[int, Any] = {}
        self._ordinals: dict[int, int] = {}  # of contexts

    def call(self, tried: str, function: Any, *args: Any, kernel: str = "") -> Any:
        """The result of a call of the driver; its failure, as `tried` by `kernel`, is raised."""
        status, *results = function(*args)
        if status:
            raise failure(status, kernel, tried, reversed(self.recent))
        return results[0] if len(results) == 1 else tuple(results) or None

    @functools.cached_property
    def launch_address(self) -> int:
        """Where the driver's `cuLaunchKernelEx` is, as the bindings would call it; 0 for a driver
        that has none."""
        api = self.api
        kinds = api.CUdriverProcAddress_flags
        flags = kinds.CU_GET_PROC_ADDRESS_LEGACY_STREAM
        if os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") != "0":
            flags = kinds.CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
        status, address, _ = api.cuGetProcAddress(b"cuLaunchKernelEx", LAUNCH_EX, int(flags))
        return 0 if status else int(address or 0)

    def device(self, ordinal: int) -> Device:
        """The description of a device."""
        found = self._devices.get(ordinal)
        if found is None:
            found = self._devices[ordinal] = self._describe(ordinal)
        return found

    def _describe(self, ordinal: int) -> Device:
        api, tried = self.api, f"asking about device {ordinal}"
        handle = self.call(tried, api.cuDeviceGet, ordinal)

        def ask(name: str) -> int:
            which = getattr(api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(self.call(tried, api.cuDeviceGetAttribute, which, handle))

        name = self.call(tried, api.cuDeviceGetName, 128, handle)
        return Device(
            ordinal=ordinal,
            name=bytes(name).split(b"\0")[0].decode(),
            capability=(ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR")),
            memory=int(self.call(tried, api.cuDeviceTotalMem, handle)),
            grid_limits=(ask("MAX_GRID_DIM_X"), ask("MAX_GRID_DIM_Y"), ask("MAX_GRID_DIM_Z")),
            **{field: ask(attribute) for field, attribute in _ATTRIBUTES.items()},
        )

    def current(self) -> tuple[int, int] | None:
        """The current context and its device, or None."""
        context = int(self.call("asking for the context", self.api.cuCtxGetCurrent))
        return (context, self._ordinal(context)) if context else None

    def _ordinal(self, context: int) -> int:
        # A destroyed context's address can be another's, so only primary ones are remembered.
        known = self._ordinals.get(context)
        if known is not None:
            return known
        return int(self.call("asking for the device", self.api.cuCtxGetDevice))

    def primary(self, ordinal: int) -> Any:
        """The primary context of a device, which is kept from now on."""
        found = self._primary.get(ordinal)
        if found is None:
            tried = f"opening device {ordinal}"
            handle = self.call(tried, self.api.cuDeviceGet, ordinal)
            found = self.call(tried, self.api.cuDevicePrimaryCtxRetain, handle)
            self._primary[ordinal] = found
            self._ordinals[int(found)] = ordinal
        return found

    @contextmanager
    def entered(self, ordinal: int) -> Iterator[int]:
        """Inside the `with`, a context of the device is current; its handle is given."""
        now = self.current()
        if now is not None and now[1] == ordinal:
            yield now[0]
            return
        context = self.primary(ordinal)
        self.call(f"entering device {ordinal}", self.api.cuCtxPushCurrent, context)
        try:
            yield int(context)
        finally:
            self.call(f"leaving device {ordinal}", self.api.cuCtxPopCurrent)

    def device_of(self, address: int) -> int | None:
        """The device whose memory an address is in; None for memory that CUDA does not know."""
        code, ordinal = ordinal_of(self.api, address)
        status = self.api.CUresult(code)
        if status == self.api.CUresult.CUDA_ERROR_INVALID_VALUE:
            return None
        if status:
            raise failure(status, "", "asking where an array lies", reversed(self.recent))
        return ordinal if ordinal >= 0 else None

    def capturing(self, stream: int) -> bool:
        """Whether work on the stream is recorded into a graph. It asks the driver."""
        tried = "asking whether a stream is capturing"
        status = self.call(tried, self.api.cuStreamIsCapturing, stream)
        return bool(int(status))

    def wait(self, stream: int, kernel: str = "") -> None:
        """Until everything on the stream is done."""
        self.call("waiting for the kernel", self.api.cuStreamSynchronize, stream, kernel=kernel)


@functools.cache
def driver() -> Driver:
    """The driver of this process, opened when it is first asked for."""
    return Driver()


@functools.cache
def present() -> bool:
    """Whether there is a driver with a device. Nothing is imported or opened on machines without."""
    try:
        return driver().count > 0
    except (ImportError, GPUError, RuntimeError):  # no bindings, no device, no libcuda
        return False

"""`triton.runtime.driver`, `triton.backends.driver`: what host code asks about the device.

Every answer comes from the device profile in force (`blockstep.target`), never from the machine, and
the active torch device is the CPU, which is where the arrays are. Only where launches on device
arrays run on the device (`blockstep.runtime.gpu`) do the answers come from it: `device_driver`.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep import target as devices
from blockstep.target import GPUTarget

CPP_TYPES = {
    "i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "fp16": "double", "bf16": "double", "fp32": "double", "f32": "double", "fp64": "double",
}  # fmt: skip
FLUSHED_BYTES = 1 << 20


class DriverBase(abc.ABC):
    """What a driver answers."""

    @classmethod
    @abc.abstractmethod
    def is_active(cls) -> bool: ...

    @abc.abstractmethod
    def map_python_to_cpp_type(self, ty: str) -> str: ...

    @abc.abstractmethod
    def get_current_target(self) -> GPUTarget: ...

    @abc.abstractmethod
    def get_active_torch_device(self) -> Any: ...

    @abc.abstractmethod
    def get_benchmarker(self) -> Callable[..., Any]: ...


class GPUDriver(DriverBase):
    """A driver whose devices torch knows; drivers of other vendors derive from it."""

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        return args


class Utils:
    """`driver.active.utils`."""

    def get_device_properties(self, device: Any = 0) -> dict[str, int]:
        """Sizes and clocks of the device, under the names that host code reads."""
        return devices.current().properties


class WallClockEvent:
    """A point in time, with the interface of `torch.cuda.Event`."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self.time: float | None = None

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end_event: WallClockEvent) -> float:
        """Milliseconds from this event to `end_event`."""
        if self.time is None or end_event.time is None:
            raise RuntimeError("both events must be recorded before their distance is asked for")
        return (end_event.time - self.time) * 1e3

    def query(self) -> bool:
        return True

    def synchronize(self) -> None: ...

    def wait(self, stream: Any = None) -> None: ...


class DeviceInterface:
    """The part of `torch.cuda` that timing code uses, without a GPU and without torch."""

    Event = WallClockEvent

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def synchronize(device: Any = None) -> None: ...

    @staticmethod
    def get_device_capability(device: Any = None) -> tuple[int, int]:
        return devices.current().capability


class ProfileDriver(GPUDriver):
    """The driver of a machine that interprets: one device, as its profile describes it."""

    def __init__(self) -> None:
        self.utils = Utils()
        self.binary_ext = "cubin"

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C++ type of a kernel parameter."""
        return "CUdeviceptr" if ty.startswith("*") else CPP_TYPES[ty]

    def get_current_target(self) -> GPUTarget:
        return devices.current().triple

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return devices.current().capability

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: Any) -> None: ...

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        """The torch device that arrays should be made on."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        return DeviceInterface

    def get_benchmarker(self) -> Callable[..., Any]:
        from blockstep.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer to overwrite before each timed run."""
        return np.empty(FLUSHED_BYTES, np.uint8)

    def clear_cache(self, cache: Any) -> None:
        if hasattr(cache, "zero_"):
            cache.zero_()
        else:
            cache[...] = 0


class DriverConfig:
    """`triton.runtime.driver`: the default driver and the active one."""

    def __init__(self) -> None:
        self._profile = ProfileDriver()
        self._device: Any = None
        self._active: Any = None

    @property
    def default(self) -> Any:
        """The driver of the real device where launches on its arrays run there, else that of the
        device profile."""
        from blockstep.runtime.compat import device_driver

        if not device_driver.DeviceDriver.is_active():
            return self._profile
        if self._device is None:
            self._device = device_driver.DeviceDriver()
        return self._device

    @property
    def active(self) -> Any:
        """The driver in use."""
        return self._active if self._active is not None else self.default

    @property
    def utils(self) -> Any:
        return self.active.utils

    def set_active(self, driver: Any) -> None:
        """Use `driver` from here on."""
        self._active = driver

    def reset_active(self) -> None:
        """Use the default driver again."""
        self._active = None


driver = DriverConfig()

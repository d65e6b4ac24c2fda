"""What host code is told about the device where there is one that launches run on.

Invariant: it answers for the device that a launch would go to, torch's current one, with torch's
own current stream.
"""

from __future__ import annotations

import sys
from typing import Any

from blockstep.runtime import session
from blockstep.runtime.compat.driver import ProfileDriver
from blockstep.runtime.gpu import selection
from blockstep.runtime.gpu.driver import driver, present
from blockstep.runtime.gpu.streams import torch_with_cuda
from blockstep.target import GPUTarget, Target


class DeviceUtils:
    """`driver.active.utils`."""

    def get_device_properties(self, device: Any = 0) -> dict[str, int]:
        """Sizes and clocks of a device, under the names that host code reads."""
        return selection.target_of(driver().device(int(device))).properties


class DeviceDriver(ProfileDriver):
    """The driver of a real device, whose arrays are torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.utils: Any = DeviceUtils()

    @classmethod
    def is_active(cls) -> bool:
        """Whether arrays on a device would be launched on there, and torch can make some."""
        torch = torch_with_cuda()
        if torch is None or not selection.may_want(session.current(), asked=True):
            return False
        return bool(torch.cuda.is_available()) and present() and selection.compiler() is not None

    def _profile(self) -> Target:
        return selection.target_of(driver().device(self.get_current_device()))

    def get_current_target(self) -> GPUTarget:
        return self._profile().triple

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """The compute capability of a device, or of the current one."""
        which = self.get_current_device() if device is None else int(device)
        return driver().device(which).capability

    def get_current_device(self) -> int:
        return int(sys.modules["torch"].cuda.current_device())

    def set_current_device(self, device: Any) -> None:
        sys.modules["torch"].cuda.set_device(device)

    def get_current_stream(self, device: Any = None) -> int:
        """The handle of torch's current stream."""
        which = self.get_current_device() if device is None else int(device)
        return int(sys.modules["torch"]._C._cuda_getCurrentRawStream(which))

    def get_active_torch_device(self) -> Any:
        """The torch device that arrays should be made on."""
        return sys.modules["torch"].device("cuda", self.get_current_device())

    def get_device_interface(self) -> Any:
        return sys.modules["torch"].cuda

    def get_empty_cache_for_benchmark(self) -> Any:
        """A tensor larger than the L2, to overwrite before each timed run."""
        torch = sys.modules["torch"]
        size = 2 * driver().device(self.get_current_device()).l2
        return torch.empty(size // 4, dtype=torch.int32, device="cuda")

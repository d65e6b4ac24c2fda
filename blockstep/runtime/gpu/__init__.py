"""The gpu machine: compiled kernels on a real device, through `cuda.bindings.driver`.

`binary` is what a compiler hands over; `loading`, `launcher`, `values` and `tensor_map` bring it
onto a device and run it; `machine` is a launch from its arguments on. No driver is opened before a
launch asks for a device.
"""

from __future__ import annotations

from blockstep.runtime.gpu import machine as machines
from blockstep.runtime.gpu.binary import FAULTS, Binary, Box, Param, Site
from blockstep.runtime.gpu.selection import Compiler, wants_gpu

__all__ = ["FAULTS", "Binary", "Box", "Compiler", "Param", "Site", "synchronize", "wants_gpu"]


def synchronize() -> None:
    """Waits for the current device and raises what went wrong on it: `KernelFault`, or
    `KernelAssertion` for a `device_assert` that did not hold."""
    machines.machine().synchronize()

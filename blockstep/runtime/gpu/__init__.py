"""The gpu machine: compiled kernels on a real device, through `cuda.bindings.driver`.

`binary` is what a compiler hands over, `loading` and `launcher` bring it onto a device and run it.
Nothing here is imported, and no driver is opened, before a launch asks for a device.
"""

from __future__ import annotations

from blockstep.runtime.gpu.binary import FAULTS, Binary, Box, Param, Site

__all__ = ["FAULTS", "Binary", "Box", "Param", "Site"]

"""The rung of a real device, where this process has one."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.errors import TritonError
from blockstep.runtime.gpu import driver
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.host_arrays import InPlace
from blockstep.runtime.gpu.streams import current_stream
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.rung import NotRun, Ran, Rule

NO_GPU = "no GPU"


@dataclass(frozen=True, slots=True)
class Gpu:
    """The compiled kernel on the device, with the launch's own options.

    Arrays of the host are copied there and back. Memory that is reached through addresses alone is
    not: such a launch is not run."""

    name: str = "gpu"
    rule: Rule = Rule.FAST

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun where there is no device, and for what it cannot be given."""
        if not driver.present():
            raise NotRun(NO_GPU)
        if launch.memory.reached:
            raise NotRun("it reaches memory through addresses of the host")
        if isinstance(launch.bound.binding.devices, InPlace) or launch.on_device:
            raise NotRun("its arrays lie on the device: verify it on copies in host memory")
        device = gpu.machine()
        try:
            prepared = device.prepare(launch.function, launch.bound, launch.told, launch.kernel)
            device.launch(prepared, launch.bound, launch.grid)
            device.driver.wait(
                current_stream(prepared.launcher.loaded.device.ordinal, []), launch.kernel
            )
        except TritonError as error:
            raise NotRun(f"{type(error).__name__}: {error}") from error
        return Ran()


__all__ = ["NO_GPU", "Gpu"]

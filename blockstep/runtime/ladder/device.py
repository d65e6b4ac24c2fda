"""The rung of a real device, where this process has one."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.errors import TritonError
from blockstep.runtime.gpu import driver
from blockstep.runtime.gpu import machine as gpu
from blockstep.runtime.gpu.failures import KernelFault
from blockstep.runtime.gpu.faults import KernelAssertion
from blockstep.runtime.gpu.host_arrays import InPlace
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.rung import Broken, Fault, NotRun, Ran, Rule

NO_GPU = "no GPU"


@dataclass(frozen=True, slots=True)
class Gpu:
    """The compiled kernel on the device, with the launch's own options.

    Arrays of the host are copied there and back; those of the device are used where they are, read,
    and put back. Memory that is reached through addresses alone is not copied: such a launch is not
    run."""

    name: str = "gpu"
    rule: Rule = Rule.FAST

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun where there is no device, and for what it cannot be given; Broken where the
        kernel stops with an error."""
        if not driver.present():
            raise NotRun(NO_GPU)
        if launch.memory.reached:
            raise NotRun("it reaches memory through addresses of the host")
        there = launch.bound.binding.devices
        try:
            _on_device(launch)
            there.copy_again()
        except KernelFault as error:  # the device is lost to this process: nothing to put back
            raise Broken(Fault("out-of-bounds", str(error))) from error
        except KernelAssertion as error:
            there.put_back()
            raise Broken(Fault("assert", str(error))) from error
        except TritonError as error:
            there.put_back()
            raise NotRun(f"{type(error).__name__}: {error}") from error
        there.put_back()
        return Ran()


def _on_device(launch: Launch) -> None:
    """Runs the kernel, and waits for it."""
    bound = launch.bind(InPlace())
    device = gpu.machine()
    prepared = device.prepare(launch.function, bound, launch.told, launch.kernel)
    device.launch(prepared, bound, launch.grid)
    device.synchronize(prepared.launcher.loaded.device.ordinal)


__all__ = ["NO_GPU", "Gpu"]

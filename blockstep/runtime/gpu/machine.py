"""A launch on the gpu machine, the long way, which finds everything out.

It finds the device of bound arguments, compiles and loads what is needed, copies arrays of the host,
and launches. What was found out is a `Prepared`, which `shortcut` launches again.

Invariant: a launch on device arrays alone neither waits nor allocates once its code is loaded, so
that it can be captured into a graph. (Scratch memory is allocated for a larger grid than before and
for a capture, outside of it.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from blockstep.interp.memory import View
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.gpu import driver as driver_module
from blockstep.runtime.gpu.binary import FAULTS, Binary
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.entry import Prepared
from blockstep.runtime.gpu.failures import GPUError, MixedDevices
from blockstep.runtime.gpu.faults import Faults
from blockstep.runtime.gpu.handle import GPUKernel
from blockstep.runtime.gpu.host_arrays import Copies, arrays_of, devices_hold
from blockstep.runtime.gpu.launcher import Launcher
from blockstep.runtime.gpu.loading import Loaded, Loader
from blockstep.runtime.gpu.scratch import Scratch
from blockstep.runtime.gpu.selection import code_for, target_of
from blockstep.runtime.gpu.shortcut import Grid, debugging
from blockstep.runtime.gpu.streams import current_stream
from blockstep.runtime.gpu.tensor_map import TensorMaps
from blockstep.runtime.gpu.values import gathering, values_of


class Machine:
    """The devices of this process. `compile_` stands in for the compiler."""

    def __init__(self, driver: Driver, compile_: Callable[..., Binary] | None = None) -> None:
        self.driver = driver
        self.loader = Loader(driver)
        self.maps = TensorMaps(driver)
        self.faults = Faults(driver)
        self.scratch = Scratch(driver)
        self._compile = compile_
        self._launchers: dict[int, Launcher] = {}  # by Loaded, which they keep
        self._targets = functools.cache(lambda ordinal: target_of(driver.device(ordinal)))

    def prepare(
        self, function: JITFunction, bound: Bound, options: dict[str, Any], name: str
    ) -> Prepared:
        """Compiles and loads the kernel of a launch. Raises MixedDevices."""
        ordinal = self.device_of(bound, name)
        made = code_for(function, bound, options, self._targets(ordinal), self._compile)
        loaded = self.loader.load(made.binary, ordinal)
        handle = GPUKernel(function, options, name, loaded)
        gather = gathering(made.binary, bound, self.maps, self.scratch.of(loaded))
        return Prepared(self._launcher(loaded), gather, handle, made.watch, debugging(function))

    def _launcher(self, loaded: Loaded) -> Launcher:
        found = self._launchers.get(id(loaded))
        if found is None:
            record = 0
            if any(p.name == FAULTS for p in loaded.binary.parameters):
                with self.driver.entered(loaded.device.ordinal) as context:
                    record = self.faults.slot(loaded.binary, context).address
            found = self._launchers[id(loaded)] = Launcher(self.driver, loaded, record)
        return found

    def launch(self, prepared: Prepared, bound: Bound, grid: Grid) -> None:
        """Runs a prepared kernel on bound arguments. It waits for the kernel if arrays of the host
        were copied for it."""
        launcher = prepared.launcher
        launcher.check_grid(grid)
        self.faults.check()
        with (
            self.driver.entered(launcher.loaded.device.ordinal),
            Copies(self.driver, launcher.name, self.stream(bound, launcher)) as copies,
        ):
            stream = copies.stream
            values = values_of(bound, functools.partial(self._address, bound, copies))
            launcher.launch(*grid, stream, prepared.gather(values, grid, stream))
            if not len(copies):
                return
            self.driver.wait(stream, launcher.name)
            copies.copy_back(launcher.binary.writes)
        self.faults.check()

    def _address(self, bound: Bound, copies: Copies, view: View) -> int:
        if view.storage is None or devices_hold(bound, view):
            return view.base
        if not len(copies) and self.driver.capturing(copies.stream):
            raise GPUError(
                copies.kernel, f"capturing a launch on `{view.name}`, an array of the host",
                "a graph cannot copy it", "move the array to the device before the capture",
            )  # fmt: skip
        return copies.address(view)

    def stream(self, bound: Bound, launcher: Launcher) -> int:
        """The stream that a launch goes to."""
        arrays = [a.value for a in arrays_of(bound)]
        return current_stream(launcher.loaded.device.ordinal, arrays)

    def device_of(self, bound: Bound, kernel: str) -> int:
        """The device that all device arrays of a launch are on; without any, the current one.

        Raises MixedDevices."""
        first: tuple[int, str] | None = None
        for argument in arrays_of(bound):
            view = argument.view
            if view is None or not devices_hold(bound, view):
                continue
            ordinal = self._ordinal(argument, view)
            if first is not None and first[0] != ordinal:
                raise MixedDevices(
                    kernel,
                    f"`{first[1]}` is on cuda:{first[0]} and `{argument.name}` on cuda:{ordinal}",
                    "mixed devices",
                    f"move one of them, e.g. {argument.name}.to('cuda:{first[0]}')",
                )
            first = first or (ordinal, argument.name)
        if first is not None:
            return first[0]
        now = self.driver.current()
        return 0 if now is None else now[1]

    def _ordinal(self, argument: Argument, view: View) -> int:
        told = self.driver.device_of(view.base) if view.base else None
        if told is not None:
            return told
        ask = getattr(argument.value, "get_device", None)  # an empty tensor has no address
        return max(int(ask()), 0) if ask is not None else 0

    def synchronize(self, ordinal: int | None = None) -> None:
        """Waits for a device, the current one if none is named, and raises what went wrong on it:
        KernelFault, or KernelAssertion for a `device_assert` that did not hold."""
        if ordinal is None:
            now = self.driver.current()
            ordinal = 0 if now is None else now[1]  # a thread may have none yet
        with self.driver.entered(ordinal):
            self.driver.call("waiting for the device", self.driver.api.cuCtxSynchronize)
        self.faults.check()


@functools.cache
def machine() -> Machine:
    """The gpu machine of this process."""
    return Machine(driver_module.driver())

"""One launch on the gpu machine: the long way, which finds everything out, and the short one.

The long way binds the arguments, finds their device, compiles and loads what is needed, copies
arrays of the host, and launches. If nothing had to be copied, it leaves a `Shortcut` entry behind:
the next call with arguments of the same kind takes a few microseconds.

Invariant: the short way launches exactly what the long way would, or declines. A launch on device
arrays alone neither waits nor allocates once its code is loaded, so that it can be captured.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockstep import knobs
from blockstep.interp.memory import View
from blockstep.language.function import SHORT, JITFunction
from blockstep.runtime import session
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.gpu import driver as driver_module
from blockstep.runtime.gpu.binary import FAULTS, Binary
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.failures import GPUError, MixedDevices, OtherContext
from blockstep.runtime.gpu.faults import Faults
from blockstep.runtime.gpu.handle import GPUKernel
from blockstep.runtime.gpu.host_arrays import Copies, InPlace
from blockstep.runtime.gpu.launcher import Launch, Launcher
from blockstep.runtime.gpu.loading import Loaded, Loader
from blockstep.runtime.gpu.selection import code_for, may_want, target_of
from blockstep.runtime.gpu.signature import Read, Slow, reader
from blockstep.runtime.gpu.streams import cupy_stream, current_stream, is_cupy, torch_stream
from blockstep.runtime.gpu.tensor_map import TensorMaps
from blockstep.runtime.gpu.values import Gather, gatherer, values_of
from blockstep.runtime.gpu.watch import Watch

Grid = tuple[int, int, int]


class Machine:
    """The devices of this process. `compile_` stands in for the compiler."""

    def __init__(self, driver: Driver, compile_: Callable[..., Binary] | None = None) -> None:
        self.driver = driver
        self.loader = Loader(driver)
        self.maps = TensorMaps(driver)
        self.faults = Faults(driver)
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
        gather = gatherer(made.binary, bound, self.maps)
        return Prepared(self._launcher(loaded), gather, handle, made.watch, _debug(function))

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
        self.faults.check()
        with (
            self.driver.entered(launcher.loaded.device.ordinal),
            Copies(self.driver, launcher.name, self.stream(bound, launcher)) as copies,
        ):
            stream = copies.stream
            values = values_of(bound, functools.partial(self._address, bound, copies))
            launcher.launch(*grid, stream, prepared.gather(values))
            if not len(copies):
                return
            self.driver.wait(stream, launcher.name)
            copies.copy_back(launcher.binary.writes)
        self.faults.check()

    def _address(self, bound: Bound, copies: Copies, view: View) -> int:
        if view.storage is None or _on_device(bound, view):
            return view.base
        if not len(copies) and self.driver.capturing(copies.stream):
            raise GPUError(
                copies.kernel, f"capturing a launch on `{view.name}`, an array of the host",
                "a graph cannot copy it", "move the array to the device before the capture",
            )  # fmt: skip
        return copies.address(view)

    def stream(self, bound: Bound, launcher: Launcher) -> int:
        """The stream that a launch goes to."""
        arrays = [a.value for a in _arrays(bound)]
        return current_stream(launcher.loaded.device.ordinal, arrays)

    def device_of(self, bound: Bound, kernel: str) -> int:
        """The device that all device arrays of a launch are on; without any, the current one.

        Raises MixedDevices."""
        first: tuple[int, str] | None = None
        for argument in _arrays(bound):
            view = argument.view
            if view is None or not _on_device(bound, view):
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

    def synchronize(self) -> None:
        """Waits for the current device, and raises what went wrong on it: KernelFault, or
        KernelAssertion for a `device_assert` that did not hold."""
        self.driver.call("waiting for the device", self.driver.api.cuCtxSynchronize)
        self.faults.check()


def _on_device(bound: Bound, view: View) -> bool:
    devices = bound.binding.devices
    return isinstance(devices, InPlace) and devices.holds(view.storage)


def _arrays(bound: Bound) -> list[Argument]:
    return [part for a in bound.arguments for part in a.walk() if part.view is not None]


@dataclass(slots=True, eq=False)
class Prepared:
    """A kernel that is loaded and ready for arguments of one kind."""

    launcher: Launcher
    gather: Gather
    handle: GPUKernel
    watch: Watch
    debug: tuple[Any, Any]
    launch: Launch = field(init=False)
    ordinal: int = field(init=False)

    def __post_init__(self) -> None:
        self.launch, self.ordinal = self.launcher.launch, self.launcher.loaded.device.ordinal


def _debug(function: JITFunction) -> tuple[Any, Any]:
    """What besides the call's own options decides whether assertions are compiled."""
    return function.debug, knobs.runtime.debug


@functools.cache
def machine() -> Machine:
    """The gpu machine of this process."""
    return Machine(driver_module.driver())


class Shortcut:
    """The short way to the launches of one jit function."""

    def __init__(self, function: JITFunction, machine: Machine) -> None:
        self._function = function
        self._machine = machine
        self._read = reader(function.params)
        self._names = function.arg_names
        self._entries: dict[Any, tuple[Prepared, Callable[[int], int]]] = {}
        self._allowed: Any = None  # the options under which the last launch went this way

    def add(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], bound: Bound, prepared: Prepared
    ) -> None:
        """Let later calls like this one be short, if they can be."""
        arrays = _arrays(bound)
        if not arrays or not all(_on_device(bound, a.view) for a in arrays if a.view is not None):
            return
        stream = _asker([a.value for a in arrays])
        read = self._try(args, kwargs)
        if read is not None and stream is not None:
            self._entries[read[0]] = prepared, stream

    def _try(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Read | None:
        try:
            read = self._read(*args, **kwargs)
            hash(read[0])
        except (Slow, TypeError, AttributeError, RuntimeError):
            return None
        return read

    def __call__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any
    ) -> GPUKernel | None:
        """Launches and gives the handle, or gives None with nothing done."""
        try:
            key, values, given = self._read(*args, **kwargs)
            prepared, ask = self._entries[key]
            if self._disturbed() or prepared.debug != _debug(self._function):
                return None
            if callable(grid):
                grid = grid(dict(zip(self._names, given, strict=True)))
        except (KeyError, Slow, TypeError, AttributeError, RuntimeError):
            return None
        if not prepared.watch.holds():
            return None
        size = _plain(grid)
        if size is None:
            return None
        if self._machine.faults.slots:
            self._machine.faults.check()
        x, y, z = size
        try:
            prepared.launch(x, y, z, ask(prepared.ordinal), prepared.gather(values))
        except OtherContext:
            return None
        return prepared.handle

    def _disturbed(self) -> bool:
        """Whether hooks, a debugger or the options ask for the long way."""
        runtime = knobs.runtime
        if (
            self._function.pre_run_hooks
            or runtime.launch_enter_hook.calls
            or runtime.launch_exit_hook.calls
            or sys.gettrace() is not None
        ):
            return True
        current = session.current()
        if current.options is self._allowed and current.on_instance is None:
            return False
        if not may_want(current) or current.options.judged:
            return True
        self._allowed = current.options
        return False


def _plain(grid: Any) -> Grid | None:
    """A grid of one to three positive integers; None for any other, which the long way refuses."""
    if grid.__class__ is not tuple:
        return None
    for size in grid:
        if size.__class__ is not int or size <= 0:
            return None
    count = len(grid)
    if count == 1:
        return grid[0], 1, 1
    if count == 2:
        return grid[0], grid[1], 1
    return grid if count == 3 else None


def _asker(arrays: list[Any]) -> Callable[[int], int] | None:
    """What tells the stream of launches on such arrays; None where each has to be asked."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(x, torch.Tensor) for x in arrays):
        return torch_stream()
    if all(is_cupy(x) for x in arrays):
        return cupy_stream()
    return None


__all__ = ["SHORT", "Machine", "Prepared", "Shortcut", "machine"]

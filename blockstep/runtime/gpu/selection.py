"""Which launches go to the gpu machine, and the code that they run there.

`BLOCKSTEP_MACHINE=gpu` (or `blockstep.machine("gpu")`) sends every launch to the device, arrays of
the host by copies. Without a choice ("auto"), launches on arrays that lie on a device go there, if
this process has a driver and nobody asked for what only an interpreting machine gives: a judgement,
a debugger, some program instances alone, TRITON_INTERPRET=1.

Invariant: code that was compiled is used again only for the same specialisation, options, device
and outer names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from blockstep import knobs, target
from blockstep.compiler.frontend.cache import exact, key_of
from blockstep.errors import UnsupportedError
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound, is_descriptor
from blockstep.runtime.gpu import driver as driver_module
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.gpu.driver import Device
from blockstep.runtime.gpu.host_arrays import InPlace
from blockstep.runtime.gpu.streams import torch_stream
from blockstep.runtime.gpu.watch import Watch
from blockstep.runtime.session import Session

COMPILER = "blockstep.runtime.gpu.compiling"
MACHINE = "gpu"


class Compiler(Protocol):
    """What the module `COMPILER` has as `compile_for_gpu`."""

    def __call__(self, function: JITFunction, bound: Bound, options: Mapping[str, Any]) -> Binary:
        """Compiles a kernel for these arguments and launch options, for `target.current()`.

        Everything may be derived from the bound arguments that `key_of` and `Argument.aligned`
        tell; addresses and the values of run-time numbers may not. Raises CompilationError, at the
        user's line, for what the language rejects, UnsupportedError for what cannot be compiled,
        OutOfResources or PTXASError for what the device does not take."""


def compiler() -> Compiler | None:
    """The compiler, if there is one. It is imported when the first kernel is compiled."""
    if importlib.util.find_spec(COMPILER) is None:
        return None
    found: Compiler = importlib.import_module(COMPILER).compile_for_gpu
    return found


def may_want(current: Session, asked: bool = False) -> bool:
    """Whether a launch could go to the device at all, whatever its arguments are. `asked`: also if
    nothing has been made on a device yet."""
    chosen = current.options
    if chosen.machine == MACHINE:
        return True
    if chosen.machine != "auto" or chosen.judged or chosen.programs is not None:
        return False
    if current.on_instance is not None or sys.gettrace() is not None:
        return False
    if knobs.getenv_bool("TRITON_INTERPRET", False):
        return False
    return asked or "cuda.bindings.driver" in sys.modules or _device_library()


def _device_library() -> bool:
    """Whether something is loaded that can have made an array on a device."""
    return torch_stream() is not None or "cupy" in sys.modules or "numba.cuda" in sys.modules


def wants_gpu(bound: Bound, current: Session) -> bool:
    """Whether a launch that was bound with `InPlace` goes to the device."""
    if current.options.machine == MACHINE:
        return True
    devices = bound.binding.devices
    on_device = isinstance(devices, InPlace) and bool(devices.storages)
    return on_device and driver_module.present() and compiler() is not None


def on_device(values: Iterable[Any], current: Session) -> bool:
    """Whether a launch with these arguments would go to the device; nothing is bound to find out."""
    if not may_want(current):
        return False
    there = current.options.machine == MACHINE or any(map(_lies_on_device, values))
    return there and driver_module.present() and compiler() is not None


def _lies_on_device(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_lies_on_device, value))
    if is_descriptor(value):
        return _lies_on_device(value.base)
    return bool(getattr(value, "is_cuda", False)) or hasattr(value, "__cuda_array_interface__")


def check_choice(current: Session) -> None:
    """Raises UnsupportedError where the gpu machine was chosen for what it does not do."""
    chosen = current.options
    if chosen.machine != MACHINE:
        return
    if chosen.judged:
        what, remedy = "judges nothing", "leave out --machine gpu: the CPU judges"
    elif chosen.programs is not None:
        what, remedy = "runs all program instances", "leave out --machine gpu, or the choice"
    elif current.on_instance is not None:
        what, remedy = "does not stop in a kernel", "leave out --machine gpu: debug on the CPU"
    elif not driver_module.present():
        what, remedy = "needs a GPU and its driver, and there is none", "BLOCKSTEP_MACHINE=grid"
    elif compiler() is None:
        what, remedy = "needs the compiler, which is not installed", "BLOCKSTEP_MACHINE=grid"
    else:
        return
    raise UnsupportedError(f"unsupported: the gpu machine {what}\nhelp: {remedy}")


def target_of(device: Device) -> target.Target:
    """The profile of a real device: that of its kind, with the device's own numbers."""
    kinds = [t for t in target.TARGETS.values() if t.backend == "cuda"]
    known = [t for t in kinds if t.title in device.name]
    same = known or [t for t in kinds if t.capability == device.capability]
    major, minor = device.capability
    return replace(
        (same or [target.find("h100" if major >= 9 else "a100")])[0],
        name=known[0].name if known else device.name,
        title=device.name,
        arch=10 * major + minor,
        capability=device.capability,
        multiprocessors=device.multiprocessors,
        shared_per_block=device.shared_limit,
        shared_per_multiprocessor=device.shared_per_multiprocessor,
        memory=device.memory,
        clock=device.clock,
        memory_clock=device.memory_clock,
        memory_bus=device.memory_bus,
        l2=device.l2,
        threads_per_block=device.threads_limit,
        registers_per_block=device.registers,
        grid_limits=device.grid_limits,
    )


@dataclass(frozen=True, slots=True)
class Made:
    """Code, and the outer names that it was made from."""

    binary: Binary
    watch: Watch


def code_for(
    function: JITFunction,
    bound: Bound,
    options: Mapping[str, Any],
    chosen: target.Target,
    compile_: Callable[..., Binary] | None = None,
) -> Made:
    """The code of a kernel for a launch, compiled if that is needed; `compile_` (or else the
    compiler) does it."""
    kept: dict[Hashable, Made] = function.device_caches.setdefault("code", {})
    with target.using(chosen):
        aligned = tuple([part.aligned for a in bound.arguments for part in a.walk()])
        given = tuple([(name, exact(value)) for name, value in sorted(options.items())])
        key = key_of(bound.arguments), aligned, given, chosen.name, compile_
        found = kept.get(key)
        if found is not None and found.watch.holds():
            return found
        build = compile_ or compiler()
        if build is None:
            raise UnsupportedError("unsupported: the compiler is not installed")
        constants = {a.name: a.value for a in bound.arguments if a.kind == "constexpr"}
        watch = Watch(function, constants)  # before: what changes meanwhile is compiled again
        made = kept[key] = Made(_launched_as(build(function, bound, options), options), watch)
    return made


def _launched_as(binary: Binary, options: Mapping[str, Any]) -> Binary:
    """The code with the ways to launch it that the launch asks for; the code itself is the same."""
    early = binary.launch_pdl or bool(options.get("launch_pdl"))
    together = binary.launch_cooperative_grid or bool(options.get("launch_cooperative_grid"))
    if (early, together) == (binary.launch_pdl, binary.launch_cooperative_grid):
        return binary
    return replace(binary, launch_pdl=early, launch_cooperative_grid=together)

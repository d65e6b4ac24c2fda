"""The short way to a launch: what a call like this one found out before is launched again.

`Shortcut` is asked before anything else is done with a call. It reads a key off the arguments
(`signature`), and if a launch with that key was prepared, and nothing that it depends on has
changed, packs the values and enqueues.

Invariant: it launches exactly what the long way would, or declines with nothing done. It takes only
arrays in device memory, so it never copies, waits or allocates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blockstep import knobs
from blockstep.language.function import JITFunction
from blockstep.runtime import session
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.failures import OtherContext
from blockstep.runtime.gpu.faults import Faults
from blockstep.runtime.gpu.handle import GPUKernel
from blockstep.runtime.gpu.host_arrays import arrays_of, devices_hold
from blockstep.runtime.gpu.launcher import Launch, Launcher
from blockstep.runtime.gpu.selection import may_want
from blockstep.runtime.gpu.signature import Read, Slow, reader
from blockstep.runtime.gpu.streams import cupy_stream, is_cupy, torch_stream
from blockstep.runtime.gpu.values import Gather
from blockstep.runtime.gpu.watch import Watch

Grid = tuple[int, int, int]
MOST_X = ((1 << 31) - 1) // 16  # program instances of up to 16 CTAs that every device takes
MOST_YZ = 65535


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


def debugging(function: JITFunction) -> tuple[Any, Any]:
    """What besides the call's own options decides whether assertions are compiled."""
    return function.debug, knobs.runtime.debug


class Shortcut:
    """The short way to the launches of one jit function."""

    def __init__(self, function: JITFunction, faults: Faults) -> None:
        self._function = function
        self._faults = faults
        self._read = reader(function.params)
        self._names = function.arg_names
        self._entries: dict[Any, tuple[Prepared, Callable[[int], int]]] = {}
        self._allowed: Any = None  # the options under which the last launch went this way

    def add(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], bound: Bound, prepared: Prepared
    ) -> None:
        """Let later calls like this one be short, if they can be."""
        arrays = arrays_of(bound)
        if not arrays or not all(devices_hold(bound, a.view) for a in arrays if a.view is not None):
            return
        stream = _asker([a.value.base if a.kind == "descriptor" else a.value for a in arrays])
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
            if self._disturbed(prepared):
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
        if self._faults.slots:
            self._faults.check()
        x, y, z = size
        try:
            prepared.launch(x, y, z, ask(prepared.ordinal), prepared.gather(values))
        except OtherContext:
            return None
        return prepared.handle

    def _disturbed(self, prepared: Prepared) -> bool:
        """Whether hooks, a debugger or options ask for the long way."""
        runtime, function = knobs.runtime, self._function
        own, everywhere = prepared.debug
        if (
            own is not function.debug
            or everywhere is not runtime.debug
            or function.pre_run_hooks
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
    """A grid of one to three positive integers that every device takes; None for any other, which
    the long way looks at."""
    if grid.__class__ is not tuple:
        return None
    if len(grid) == 1:
        (x,) = grid
        return (x, 1, 1) if x.__class__ is int and 0 < x <= MOST_X else None
    for size in grid:
        if size.__class__ is not int or size <= 0:
            return None
    if len(grid) > 3 or max(grid[1:], default=0) > MOST_YZ or max(grid) > MOST_X:
        return None
    if len(grid) == 2:
        return grid[0], grid[1], 1
    return grid if len(grid) == 3 else None


def _asker(arrays: list[Any]) -> Callable[[int], int] | None:
    """What tells the stream of launches on such arrays; None where each has to be asked."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(x, torch.Tensor) for x in arrays):
        return torch_stream()
    if all(is_cupy(x) for x in arrays):
        return cupy_stream()
    return None

"""`Launch`: one launch as rungs are given it, with what all of them share made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.compiler.analysis import Hint
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.options import Options
from blockstep.findings import Span
from blockstep.interp.bound import Bounds, Unbounded, bound
from blockstep.ir import Function
from blockstep.language import frames
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound, bind
from blockstep.runtime.device_memory import DeviceArrays
from blockstep.runtime.gpu.compiling import hints_of, options_of
from blockstep.runtime.gridded import arguments_of
from blockstep.runtime.ladder.memory import Memory
from blockstep.runtime.launch import grid_size
from blockstep.runtime.launch_options import OPTIONS, check_options, split_options

Grid = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Launch:
    """One launch that can be repeated: `memory.restore()` comes before each run.

    `function` is the jit function, `bound` its arguments, `told` the launch options by name (as
    `launch_options` has them), `host` the line of the launch. `made` is the IR of the front end,
    which nobody may change."""

    function: JITFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    bound: Bound
    grid: Grid
    told: dict[str, Any]
    host: Span | None = None
    number: int | None = None
    memory: Memory = field(init=False)
    _made: Function | None = None
    _bounds: dict[bool, Bounds | Unbounded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory = Memory(self.bound.space)

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.function.__name__

    def bind(self, devices: DeviceArrays | None = None) -> Bound:
        """The arguments once more, device memory reached as is said."""
        return _bind(self.function, self.args, self.kwargs, self.host, devices)

    @property
    def made(self) -> Function:
        """The IR as the front end made it. Raises TritonError."""
        if self._made is None:
            warps = int(self.told["num_warps"])
            self._made = build_bound(self.function, self.bound.arguments, warps)
        return self._made

    @property
    def arguments(self) -> dict[str, Any]:
        """By parameter name of the IR: a number, or the view behind a pointer."""
        return arguments_of(self.bound)

    @property
    def hints(self) -> Mapping[str, Hint]:
        """What the compiler may know of the arguments."""
        return hints_of(self.bound)

    @property
    def options(self) -> Options:
        """What the compiler is told."""
        return options_of(self.told, self.function)

    def bounds(self, exact: bool) -> Bounds:
        """How far a legal execution may differ. Memory has to be as it was before the launch.
        Raises Unbounded."""
        if exact not in self._bounds:
            try:
                found: Bounds | Unbounded = bound(self.made, self.arguments, self.grid, exact)
            except Unbounded as unbounded:
                found = unbounded
            self._bounds[exact] = found
        known = self._bounds[exact]
        if isinstance(known, Unbounded):
            raise known
        return known


@dataclass(slots=True, eq=False, kw_only=True)
class StandIn(ABC):
    """What stands in for the launcher of a script, to look at launches: `look` is shown each launch that
    `judges` chooses, by kernel and number, before it is made as usual (`runs`) by the one `before`."""

    judges: Callable[[str, int], bool] = lambda kernel, number: True
    runs: bool = True
    count: int = 0
    before: Any = None

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        if not warmup:
            self.count += 1
            if self.judges(function.__name__, self.count):
                launch = take(function, tuple(args), kwargs, grid, frames.user_site(1).span)
                launch.number = self.count
                self.look(launch)
        if warmup or self.runs:
            return self.before(function, args, kwargs, grid=grid, warmup=warmup)
        return None

    @abstractmethod
    def look(self, launch: Launch) -> None:
        """Does what it is for. Memory is as before the launch, and has to be so afterwards."""


def take(
    function: JITFunction, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any,
    host: Span | None = None,
) -> Launch:  # fmt: skip
    """A call of a kernel as a launch. Raises what binding raises, before anything ran."""
    told, _ = split_options(kwargs, function)
    told["debug"] = bool(kwargs.get("debug", function.debug))
    check_options(told)
    bound = _bind(function, args, kwargs, host)
    return Launch(function, args, kwargs, bound, grid_size(grid, bound), told, host)


def _bind(
    function: JITFunction, args: tuple[Any, ...], kwargs: dict[str, Any], host: Span | None,
    devices: DeviceArrays | None = None,
) -> Bound:  # fmt: skip
    _, named = split_options(kwargs, function)
    return bind(
        function.params, args, named, kernel=function.__name__, passed_at=host, options=OPTIONS,
        devices=devices,
    )  # fmt: skip


def exactly(options: Options) -> Options:
    """The same, in IEEE arithmetic."""
    return replace(options, exact=True)


__all__ = ["Grid", "Launch", "StandIn", "exactly", "take"]

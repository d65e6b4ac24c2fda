"""What a launch or a warm-up returns, `CompiledKernel`, and what it tells the hooks of
`blockstep.knobs`.

On the machines that interpret nothing is compiled, so `asm` is empty, and registers and shared
memory are nominal figures: enough for host code that divides by them to size a grid, and no
statement about the chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from blockstep import knobs, target
from blockstep.errors import OutOfResources, UnsupportedError
from blockstep.runtime.compat.utils import type_canonicalisation_dict

NOMINAL_REGISTERS = 32
NOMINAL_SHARED_PER_WARP = 4


class LazyDict:
    """A dictionary some of whose entries are computed when it is read."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = []

    def add(self, func: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> None:
        """Let `func(*args)` give further entries."""
        self.extras.append((func, args))

    def get(self) -> dict[str, Any]:
        """All entries."""
        for func, args in self.extras:
            self.data = {**self.data, **func(*args)}
        self.extras.clear()
        return self.data


class MissingCode(UnsupportedError, KeyError):
    """Code was asked for that was not generated."""

    def __str__(self) -> str:
        return str(self.args[0])


class Code(dict[str, Any]):
    """Generated code by kind: "ir" (block IR), "placed" (block IR with layouts), "llir", "ptx",
    "cubin"."""

    def __missing__(self, kind: str) -> Any:
        if self:
            raise MissingCode(
                f"unsupported: there is no {kind!r}: blockstep has representations of its own\n"
                f"help: asm has {', '.join(map(repr, self))}"
            )
        raise MissingCode(f"unsupported: no {kind!r} was generated: this kernel is interpreted")


class CompiledKernel:
    """A kernel as bound by one launch. `src` is the jit function."""

    launch_enter_hook: Any = None
    launch_exit_hook: Any = None

    def __init__(self, src: Any, options: dict[str, Any], name: str, threads: int) -> None:
        self.src = src
        self.name = name
        self.asm = Code()
        warps = int(options.get("num_warps", 4))
        self.metadata = SimpleNamespace(
            **{"num_warps": warps, "num_ctas": 1, "num_stages": 3, **options},
            shared=NOMINAL_SHARED_PER_WARP * warps,
            name=name,
        )
        self.n_regs = NOMINAL_REGISTERS
        self.n_spills = 0
        self.n_max_threads = threads
        self.module: Any = None
        self.function: Any = None
        self.kernel: Any = b""
        self.hash = name

    def _init_handles(self) -> None:
        """There is no module to load."""

    def load(self) -> None:
        """Tell the hooks around loading, once for each jit function."""
        if self.src.kernel is None:
            self.src.kernel = self
            knobs.runtime.kernel_load_start_hook(None, None, self.name, {}, self.hash)
            knobs.runtime.kernel_load_end_hook(self.module, self.function, self.name, {}, self.hash)

    def launch_metadata(self, grid: tuple[int, ...], values: Mapping[str, Any]) -> LazyDict:
        """What the hooks around a launch are told: names, and what `jit(launch_metadata=)`
        computes."""
        told = LazyDict({"name": self.name, "function": self.function, "stream": 0})
        compute = getattr(self.src, "launch_metadata", None)
        if compute is not None:
            told.add(compute, (grid, self.metadata, dict(values)))
        return told

    @property
    def run(self) -> Any:
        """The launcher, for code that launches a compiled kernel itself."""
        return self.src.run

    def __getitem__(self, grid: Any) -> Any:
        """Launch again over `grid`."""
        return self.src[grid]


def specialization(function: Any, bound: Any) -> SimpleNamespace:
    """What `jit(repr=)` is told: the types by parameter, and the values known at compile time."""
    constants = {a.name: a.value for a in bound.arguments if a.kind == "constexpr"}
    signature = {
        a.name: "constexpr" if a.kind == "constexpr" else short_type(a.type)
        for a in bound.arguments
    }
    return SimpleNamespace(
        name=function.__name__, signature=signature, constants=constants, attrs={}, fn=function
    )


def short_type(kind: Any) -> str:
    """Triton's short form of a type: `i32`, `fp16`, `*fp32`."""
    if kind.is_ptr():
        return ("*k" if kind.is_const() else "*") + short_type(kind.element_ty)
    return type_canonicalisation_dict.get(str(kind), str(kind))


def check_resources(options: Mapping[str, Any]) -> None:
    """OutOfResources if a CTA of `num_warps` warps has more threads than the device allows."""
    device = target.current()
    threads = int(options.get("num_warps", 4)) * device.warp_size
    if threads > device.threads_per_block:
        raise OutOfResources(threads, device.threads_per_block, "threads")

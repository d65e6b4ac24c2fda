"""Device profiles as data: what a checker, a driver answer or a launch limit is decided from.

A profile never asks the machine it runs on. The invariant is that every number a kernel or its
host code can see about the device comes from the profile in force, so that a run on a laptop
decides as the chip would. Sources: the CUDA programming guide (table of technical specifications
per compute capability), the data sheets for clocks and buses, and, for the `mi300x` profile, the
HIP hardware tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

GIB = 1 << 30
KIB = 1 << 10
ENVIRONMENT = "BLOCKSTEP_TARGET"
DEFAULT = "h200"


@dataclass(frozen=True)
class GPUTarget:
    """The triple that Triton's host code asks for: ("cuda", 90, 32)."""

    backend: str
    arch: int | str
    warp_size: int


@dataclass(frozen=True)
class Target:
    """One device. Sizes are bytes, clocks kHz, widths bits."""

    name: str
    title: str
    backend: str
    arch: int | str
    capability: tuple[int, int]
    multiprocessors: int
    shared_per_block: int
    shared_per_multiprocessor: int
    memory: int
    clock: int
    memory_clock: int
    memory_bus: int
    l2: int
    warp_size: int = 32
    threads_per_block: int = 1024
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    registers_per_block: int = 65536
    registers_per_multiprocessor: int = 65536
    registers_per_thread: int = 255
    grid_limits: tuple[int, int, int] = ((1 << 31) - 1, 65535, 65535)
    grid_product_limit: int | None = None
    cluster_size: int = 1
    tensor_memory: bool = False
    partitions: int = 4
    """The parts of a multiprocessor that have registers of their own; a warp stays in one."""
    register_unit: int = 256
    """Registers are given to a warp in multiples of this."""
    shared_unit: int = 128
    shared_reserved: int = 1 * KIB
    """What the system keeps for itself of the shared memory of each CTA."""

    @property
    def warps_per_multiprocessor(self) -> int:
        """How many warps are resident at most."""
        return self.threads_per_multiprocessor // self.warp_size

    @property
    def triple(self) -> GPUTarget:
        """What `driver.active.get_current_target()` returns."""
        return GPUTarget(self.backend, self.arch, self.warp_size)

    @property
    def bandwidth(self) -> float:
        """Peak DRAM bandwidth in GB/s: double data rate, so twice the memory clock."""
        return self.memory_clock * self.memory_bus * 2 / 1e6 / 8

    @property
    def properties(self) -> dict[str, int]:
        """The dictionary that Triton's `utils.get_device_properties` gives."""
        return {
            "max_shared_mem": self.shared_per_block,
            "max_num_regs": self.registers_per_block,
            "multiprocessor_count": self.multiprocessors,
            "warpSize": self.warp_size,
            "sm_clock_rate": self.clock,
            "mem_clock_rate": self.memory_clock,
            "mem_bus_width": self.memory_bus,
        }

    def exceeded(self, grid: tuple[int, ...]) -> str | None:
        """The first grid limit that `grid` breaks, in words, or None."""
        for axis, size, limit in zip("xyz", grid, self.grid_limits, strict=False):
            if size > limit:
                return f"grid {axis} is {size}; {self.title} allows {limit}"
        product = 1
        for size in grid:
            product *= size
        if self.grid_product_limit is not None and product > self.grid_product_limit:
            limit = self.grid_product_limit
            return f"the grid has {product} program instances; {self.title} allows {limit}"
        return None


H100 = Target(
    name="h100", title="NVIDIA H100", backend="cuda", arch=90, capability=(9, 0),
    multiprocessors=132, shared_per_block=227 * KIB, shared_per_multiprocessor=228 * KIB,
    memory=80 * GIB, clock=1_980_000, memory_clock=2_619_000, memory_bus=5120, l2=50 * KIB * KIB,
    cluster_size=16,
)  # fmt: skip
H200 = replace(
    H100, name="h200", title="NVIDIA H200", memory=141 * GIB, memory_clock=3_201_000,
    memory_bus=6144, l2=60 * KIB * KIB,
)  # fmt: skip
A100 = Target(
    name="a100", title="NVIDIA A100", backend="cuda", arch=80, capability=(8, 0),
    multiprocessors=108, shared_per_block=163 * KIB, shared_per_multiprocessor=164 * KIB,
    memory=80 * GIB, clock=1_410_000, memory_clock=1_512_000, memory_bus=5120, l2=40 * KIB * KIB,
)  # fmt: skip
L4 = Target(
    name="l4", title="NVIDIA L4", backend="cuda", arch=89, capability=(8, 9), multiprocessors=58,
    shared_per_block=99 * KIB, shared_per_multiprocessor=100 * KIB, memory=24 * GIB,
    clock=2_040_000, memory_clock=6_251_000, memory_bus=192, l2=48 * KIB * KIB,
    threads_per_multiprocessor=1536, blocks_per_multiprocessor=24,
)  # fmt: skip
RTX4090 = replace(
    L4, name="rtx4090", title="NVIDIA GeForce RTX 4090", multiprocessors=128, clock=2_520_000,
    memory_clock=10_501_000, memory_bus=384, l2=72 * KIB * KIB,
)  # fmt: skip
B200 = replace(
    H100, name="b200", title="NVIDIA B200", arch=100, capability=(10, 0), multiprocessors=148,
    memory=180 * GIB, clock=1_965_000, memory_clock=3_996_000, memory_bus=8192, l2=126 * KIB * KIB,
    tensor_memory=True,
)  # fmt: skip
MI300X = Target(
    name="mi300x", title="AMD Instinct MI300X", backend="hip", arch="gfx942", capability=(9, 4),
    multiprocessors=304, shared_per_block=64 * KIB, shared_per_multiprocessor=64 * KIB,
    memory=192 * GIB, clock=2_100_000, memory_clock=2_600_000, memory_bus=8192, l2=4 * KIB * KIB,
    warp_size=64, grid_limits=((1 << 31) - 1, 65535, 65535), registers_per_thread=512,
)  # fmt: skip
ASCEND910B = Target(
    name="ascend910b", title="Ascend 910B", backend="npu", arch="Ascend910B", capability=(0, 0),
    multiprocessors=24, shared_per_block=192 * KIB, shared_per_multiprocessor=192 * KIB,
    memory=64 * GIB, clock=1_800_000, memory_clock=1_600_000, memory_bus=4096, l2=192 * KIB * KIB,
    warp_size=1, grid_limits=(65535, 65535, 65535), grid_product_limit=65535,
)  # fmt: skip

TARGETS = {t.name: t for t in (H200, H100, A100, L4, RTX4090, B200, MI300X, ASCEND910B)}

_selected: ContextVar[Target | None] = ContextVar("blockstep_target", default=None)


def find(name: str) -> Target:
    """The profile called `name`; ValueError names the ones there are."""
    target = TARGETS.get(name.lower())
    if target is None:
        raise ValueError(f"no device profile {name!r}; there are {', '.join(TARGETS)}")
    return target


def current() -> Target:
    """The profile in force: selected in this context, else BLOCKSTEP_TARGET, else h200."""
    return _selected.get() or find(os.environ.get(ENVIRONMENT, DEFAULT))


def select(target: Target | str | None) -> None:
    """Put `target` in force for this context; None returns to the environment's choice."""
    _selected.set(find(target) if isinstance(target, str) else target)


@contextmanager
def using(target: Target | str) -> Iterator[Target]:
    """`target` is in force inside the `with`."""
    chosen = find(target) if isinstance(target, str) else target
    token = _selected.set(chosen)
    try:
        yield chosen
    finally:
        _selected.reset(token)

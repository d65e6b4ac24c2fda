"""The ptx machine: runs a kernel's PTX text over a grid, and says what is wrong with it.

    report = run_ptx(text, "add_kernel", (8,), (128,), [x, y, out, n])

An argument is an array (the kernel gets its address), a number, bytes, or a `TensorMap` for a
parameter of 128 bytes. Memory is the arrays' own: what the kernel stores is there afterwards.

Invariant: a launch owns its machine: nothing is kept but decoded text.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockstep.interp.grid.arena import arena
from blockstep.interp.memory import AddressSpace
from blockstep.interp.ptx.batch import Batch, Dim3, Watcher
from blockstep.interp.ptx.decode import decoded, decoded_for_host
from blockstep.interp.ptx.divergence import Scheduler
from blockstep.interp.ptx.faults import NOWHERE, NotSupported, Report
from blockstep.interp.ptx.isa.registry import WIDTH
from blockstep.interp.ptx.judging.bulk_writes import BulkWrites
from blockstep.interp.ptx.judging.ordered import OrderedRaces
from blockstep.interp.ptx.judging.provenance import allowed
from blockstep.interp.ptx.layout import nbytes
from blockstep.interp.ptx.program import Program
from blockstep.interp.ptx.races import SharedRaces
from blockstep.interp.ptx.syntax import Immediate, Symbol, Variable
from blockstep.interp.ptx.tensor_map import TensorMap

THREADS = 1 << 14  # of a batch, where nothing else decides
_SHARED_BYTES = 64 << 20  # of a batch
_GRANULES = 1 << 20  # of shared memory, of a batch whose races are judged by happens-before
_RESIDENT = 2048  # threads of a multiprocessor
PROCESSORS = 132
ENVIRONMENT = "BLOCKSTEP_HOST_CODE"


def run_ptx(
    text: str,
    entry: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Any],
    *,
    shared: int = 0,
    cluster: Sequence[int] = (),
    seed: int = 0,
    space: AddressSpace | None = None,
    judged: bool = True,
    watchers: Sequence[Watcher] = (),
    batch_threads: int = THREADS,
    report: Report | None = None,
    compiled: bool | None = None,
) -> Report:
    """Run a kernel. `grid` counts CTAs, `shared` is dynamic shared memory in bytes. Faults go into
    `report`, which a caller who wants them after a Trap passes.

    `judged=False` looks for no races in shared memory, or with the copy engine; `watchers` hear of every access.
    `compiled` runs stretches of instructions that only compute as host code, which LLVM makes; so
    does BLOCKSTEP_HOST_CODE=1 in the environment where it is None.
    Raises Malformed and NotSupported for text that cannot be run, Trap where the kernel cannot go on (the fault is in the report too)."""
    if compiled is None:
        compiled = os.environ.get(ENVIRONMENT) == "1"
    program = decoded_for_host(text, entry) if compiled else decoded(text, entry)
    report = Report() if report is None else report
    launch = _Launch(program, report, arguments, space or AddressSpace())
    sizes = _dim3(grid), _dim3(block), _cluster(program, cluster)
    if any(n % c for n, c in zip(sizes[0], sizes[2], strict=True)):
        raise ValueError(f"a grid of {sizes[0]} CTAs is not made of clusters of {sizes[2]}")
    told: list[Watcher] = [*(_races(program) if judged else ()), *watchers]
    with arena(), np.errstate(all="ignore"):
        _run(launch, sizes, shared, seed, told, batch_threads)
    return report


def _run(
    launch: _Launch, sizes: tuple[Dim3, Dim3, Dim3], shared: int, seed: int,
    watchers: Sequence[Watcher], batch_threads: int,
) -> None:  # fmt: skip
    grid, block, cluster = sizes
    program = launch.program
    total, together = int(np.prod(grid)), int(np.prod(cluster))
    step = _batch_size(program, int(np.prod(block)), shared, together, batch_threads)
    for first in range(0, total, step):
        batch = Batch(
            program, grid, block, cluster, first, min(step, total - first), launch.space,
            launch.parameters, shared, launch.report, watchers, launch.symbols,
            launch.tensor_maps, seed, PROCESSORS,
        )  # fmt: skip
        batch.memory.allowed = launch.allowed
        scheduler = Scheduler(batch)
        batch.state["scheduler"] = scheduler
        try:
            scheduler.run()
        finally:
            print("".join(text for _, _, text in batch.printed), end="")
        for watcher in watchers:
            watcher.end(batch)


def _batch_size(
    program: Program, threads: int, shared: int, together: int, batch_threads: int
) -> int:
    """How many CTAs run at a time: all that fit on a device if they may wait for each other."""
    wanted = max(batch_threads // threads, 1)
    if program.polls:
        wanted = max(wanted, PROCESSORS * max(_RESIDENT // threads, 1))
    memory = program.layout.shared + shared
    if memory and program.by_order and not program.polls:  # a shadow of some numbers a granule
        wanted = min(wanted, max(_GRANULES * program.granule // memory, 1))
    if memory:
        wanted = min(wanted, max(_SHARED_BYTES // memory, 1))
    return -(-wanted // together) * together


def _races(program: Program) -> list[Watcher]:
    """Who judges races in shared memory, and with what the copy engine writes."""
    shared = OrderedRaces(program) if program.by_order else SharedRaces(program)
    return [shared, BulkWrites()] if program.bulk_writes else [shared]


def _dim3(sizes: Sequence[int]) -> Dim3:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return int(x), int(y), int(z)


def _cluster(program: Program, asked: Sequence[int]) -> Dim3:
    told = program.entry.directives.get("reqnctapercluster") or (1,)
    return _dim3(tuple(asked) or told)


class _Launch:
    """The memory of a launch: arguments, and variables of the module in global memory."""

    def __init__(
        self, program: Program, report: Report, arguments: Sequence[Any], space: AddressSpace
    ) -> None:
        self.program, self.report, self.space = program, report, space
        self.tensor_maps: list[TensorMap] = []
        self.symbols: dict[str, int] = {}
        self._arrays: list[Any] = []
        for name, variable in program.layout.globals.items():
            self.symbols[name] = self._variable(variable)
        for name, variable in program.layout.globals.items():
            self._fill(name, variable)
        self.parameters = self._packed(arguments)
        self.allowed = allowed(program.origins, self.parameters, self.space)

    def _variable(self, variable: Variable) -> int:
        size = nbytes(variable)
        memory = np.zeros(size + variable.alignment + 16, np.uint8)
        base = memory.ctypes.data
        skip = -base % max(variable.alignment, 16)
        array = memory[skip : skip + size]
        self._arrays.append((memory, array))
        self.space.add_array(memory, variable.name, internal=True)
        return base + skip

    def _fill(self, name: str, variable: Variable) -> None:
        at = list(self.program.layout.globals).index(name)
        _, array = self._arrays[at]
        width = max(WIDTH.get(variable.type, 8) // 8, 1)
        bits = b"".join(self._item(one, width) for one in variable.data)
        array[: len(bits)] = np.frombuffer(bits, np.uint8)

    def _item(self, one: Any, width: int) -> bytes:
        if isinstance(one, Immediate):
            return (one.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        if isinstance(one, Symbol) and one.name in self.symbols:
            return (self.symbols[one.name] + one.offset).to_bytes(width, "little")
        raise NotSupported(f"{one} in what a variable begins with", NOWHERE)

    def _packed(self, arguments: Sequence[Any]) -> bytes:
        layout = self.program.layout
        if len(arguments) != len(layout.parameters):
            raise TypeError(
                f"{self.program.entry.name} takes {len(layout.parameters)} arguments, "
                f"not {len(arguments)}"
            )
        made = bytearray(layout.parameter_bytes)
        for argument, (variable, at) in zip(arguments, layout.parameters, strict=True):
            bits = self._bits(argument, variable)
            if len(bits) != nbytes(variable):
                raise TypeError(f"the parameter {variable.name} has {nbytes(variable)} bytes")
            made[at : at + len(bits)] = bits
        return bytes(made)

    def _bits(self, argument: Any, variable: Variable) -> bytes:
        size = nbytes(variable)
        if isinstance(argument, TensorMap):
            self.tensor_maps.append(argument)
            self.space.add_array(argument.array)
            return argument.token(len(self.tensor_maps) - 1)
        if isinstance(argument, bytes):
            return argument
        if isinstance(argument, np.generic):
            return argument.tobytes()
        if isinstance(argument, bool | int):
            return (int(argument) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        if isinstance(argument, float):
            return struct.pack("<d" if size == 8 else "<f", argument)
        self.space.add_array(argument)
        return _address(argument).to_bytes(8, "little")


def _address(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr())


__all__ = ["Report", "TensorMap", "run_ptx"]

"""`agreeing_in_place()`: every launch inside runs on both machines, on its own arguments.

Memory is put back between the runs, so what cannot be copied (torch tensors, tables of addresses,
memory that nobody has written) is compared too. Only memory of arguments is put back: a kernel that
adds to memory behind an address that it loaded has to be compared on copies.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import blockstep
from blockstep.interp.owners import is_torch_tensor, memory_of
from blockstep.interp.registry import Record, registry
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.descriptor import TensorDescriptor
from tests.agreement.agree import MACHINES, Disagreement, Outcome, compare, fact
from tests.ops.kernels import bits


def arrays(argument: Any) -> Iterator[Any]:
    """The arrays and tensors of an argument."""
    if isinstance(argument, (tuple, list)):
        for part in argument:
            yield from arrays(part)
    elif isinstance(argument, TensorDescriptor):
        yield from arrays(argument.base)
    elif isinstance(argument, np.ndarray) or is_torch_tensor(argument):
        yield argument


@dataclass(slots=True)
class Kept:
    """One memory as it was, and what was known of its written bytes."""

    owner: Any  # keeps the memory alive
    now: Any
    before: Any
    known: list[tuple[Record, Any]]

    def restore(self) -> None:
        """Puts everything back."""
        self.now[...] = self.before
        for record, written in self.known:
            record.written = None if written is None else written.copy()


def kept(array: Any) -> Kept:
    """The whole memory behind an array."""
    memory = memory_of(array)
    whole: Any = (ctypes.c_uint8 * memory.nbytes).from_address(memory.base)
    now = np.frombuffer(whole, np.uint8)
    records = [record for record, _ in registry.overlapping(memory.base, memory.end)]
    written = [(r, None if r.written is None else r.written.copy()) for r in records]
    return Kept(memory.owner, now, now.copy(), written)


def typed(array: Any, memory: Any) -> Any:
    """A copy of the memory behind an array as elements, for comparing: all NaNs are made one."""
    if not is_torch_tensor(array):
        whole = memory[: memory.size // array.dtype.itemsize * array.dtype.itemsize]
        return bits(whole.view(array.dtype).copy())
    import torch

    size = array.element_size()
    elements = torch.from_numpy(memory[: memory.size // size * size].copy()).view(array.dtype)
    if array.is_floating_point():
        elements = torch.where(elements.isnan(), torch.full_like(elements, float("nan")), elements)
    return elements.view(torch.uint8).numpy().reshape(-1, size)


@dataclass(slots=True)
class Compared:
    """The launches that were compared: kernel, and what the grid machine made of it."""

    launches: list[tuple[str, Outcome]] = field(default_factory=list)


def outcome(machine: str, call: Any, given: Sequence[Any], memory: dict[int, Kept]) -> Outcome:
    """Runs one machine, and puts memory back."""
    error = ""
    with blockstep.machine(machine), blockstep.check() as report:
        try:
            call()
        except Exception as raised:  # noqa: BLE001  (whatever it is, both must raise it)
            error = f"{type(raised).__name__}: {raised}"
    results = tuple([typed(a, memory[memory_of(a).base].now) for a in given])
    for one in memory.values():
        one.restore()
    machines = tuple([launch.machine for launch in report.launches])
    return Outcome(results, tuple(sorted(map(fact, report.findings), key=repr)), error, machines)


@contextmanager
def agreeing_in_place() -> Iterator[Compared]:
    """Launches inside raise Disagreement where the machines differ; then they run as usual."""
    compared = Compared()
    before = current_launcher()

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> Any:
        def call() -> Any:
            return before(function, args, kwargs, grid=grid, warmup=warmup)

        if not warmup:
            given = [a for a in arrays([*args, *kwargs.values()]) if memory_of(a).nbytes]
            memory = {memory_of(a).base: kept(a) for a in given}
            step, other = (outcome(machine, call, given, memory) for machine in MACHINES)
            try:
                compare(step, other)
            except Disagreement as found:
                raise Disagreement(found.kind, f"{function.__name__}: {found}") from None
            compared.launches.append((function.__name__, other))
        return call()

    with launching(launch):
        yield compared

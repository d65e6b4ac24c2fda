"""`agree(kernel, grid, *args)`: every machine gives the same bits and the same findings.

Each machine gets its own copy of the arguments; views of one memory stay views of one memory. Every
NaN equals every NaN of its type: which of two NaNs an operation passes on is NumPy's choice.
`Empty` stands for an array that nobody has written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

import blockstep
from blockstep.findings import Finding
from blockstep.interp.grid import machine as grid_machine
from blockstep.runtime.descriptor import TensorDescriptor
from tests.ops.kernels import bits

MACHINES = ("step", "grid")
_choice: list[dict[str, Any]] = [{}]  # innermost last: what launches are judged for


@dataclass(frozen=True, slots=True)
class Empty:
    """An argument that is allocated under the judge and never written by the host."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one machine made of a launch."""

    outputs: tuple[Any, ...]
    findings: tuple[Any, ...]
    error: str
    machines: tuple[str, ...]  # those that ran

    @property
    def on_grid(self) -> bool:
        """Whether the launch really ran on the grid machine."""
        return set(self.machines) == {"grid"}


class Disagreement(AssertionError):
    """Two machines differ; `kind` says in what, for shrinking."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def fact(finding: Finding) -> Any:
    """What two machines must agree on."""
    related = tuple([(p.span.line, p.argument, p.elements, p.count) for p in finding.related])
    return (
        finding.kind, str(finding.severity), finding.span.line, finding.message, finding.argument,
        finding.elements, finding.count, finding.occurrences, finding.program, related,
    )  # fmt: skip


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The same arguments in new memory."""
    memories: dict[int, Any] = {}
    return [copied(a, memories) for a in arguments]


def copied(argument: Any, memories: dict[int, Any]) -> Any:
    """One argument; `memories` has the copies of memory by the address of what owns it."""
    if isinstance(argument, Empty):
        return np.empty(argument.shape, argument.dtype)
    if isinstance(argument, TensorDescriptor):
        return replace(argument, base=copied(argument.base, memories))
    if isinstance(argument, (tuple, list)):
        make = getattr(argument, "_make", type(argument))  # of a named tuple, or of any other
        return make([copied(a, memories) for a in argument])
    if not isinstance(argument, np.ndarray):
        return argument
    owner: Any = argument
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low, high = byte_bounds(owner)
    if id(owner) not in memories:
        memory: Any = (ctypes.c_uint8 * (high - low)).from_address(low)
        memories[id(owner)] = np.frombuffer(memory, np.uint8).copy()
    offset = argument.__array_interface__["data"][0] - low
    new = memories[id(owner)]
    return np.ndarray(argument.shape, argument.dtype, new, offset, argument.strides)


@contextmanager
def small_batches(programs: int | None) -> Iterator[None]:
    """The grid machine takes at most this many program instances at a time."""
    before = grid_machine.LEAST_PROGRAMS, grid_machine.MOST_PROGRAMS
    if programs is not None:
        grid_machine.LEAST_PROGRAMS = grid_machine.MOST_PROGRAMS = programs
    try:
        yield
    finally:
        grid_machine.LEAST_PROGRAMS, grid_machine.MOST_PROGRAMS = before


@contextmanager
def choosing(**choice: Any) -> Iterator[None]:
    """Launches inside are judged for these kinds alone: `only` and `skip` of `check`."""
    _choice.append(choice)
    try:
        yield
    finally:
        _choice.pop()


def outcome(
    machine: str,
    kernel: Any,
    grid: Any,
    arguments: Sequence[Any],
    seed: int,
    named: dict[str, Any],
    precision: bool = False,
) -> Outcome:
    """Runs one machine on copies."""
    error = ""
    judging = blockstep.check(seed=seed, precision=precision, **_choice[-1])
    with blockstep.machine(machine), judging as report:
        given = copies([*arguments, *named.values()])
        keywords = dict(zip(named, given[len(arguments) :], strict=True))
        try:
            kernel[grid](*given[: len(arguments)], **keywords)
        except Exception as raised:  # noqa: BLE001  (whatever it is, both must raise it)
            error = f"{type(raised).__name__}: {raised}"
    machines = tuple([launch.machine for launch in report.launches])
    arrays = [a.base if isinstance(a, TensorDescriptor) else a for a in given]
    outputs = tuple([a for a in arrays if isinstance(a, np.ndarray)])
    return Outcome(outputs, tuple(sorted(map(fact, report.findings), key=repr)), error, machines)


def compare(one: Outcome, other: Outcome) -> None:
    """Raises Disagreement unless both are the same."""
    if one.error != other.error:
        raise Disagreement("error", f"error: {one.error!r}\n  and: {other.error!r}")
    if one.findings != other.findings:
        lacking = [f for f in one.findings if f not in other.findings]
        extra = [f for f in other.findings if f not in one.findings]
        kinds = sorted({f[0] for f in lacking + extra})
        text = f"findings: only the first {lacking}\nonly the second {extra}"
        raise Disagreement(f"findings {kinds}", text)
    for number, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True)):
        different = bits(a) != bits(b)
        if different.any():
            where = np.argwhere(different)
            first = tuple(where[0].tolist())
            text = f"argument {number}: {len(where)} elements, at {first} {a[first]} and {b[first]}"
            raise Disagreement("bits", text)


def agree(
    kernel: Any,
    grid: Any,
    *arguments: Any,
    seed: int = 0,
    batch: int | None = None,
    precision: bool = False,
    **named: Any,
) -> Outcome:
    """Runs a launch on every machine. What the grid machine made of it; raises Disagreement."""
    with small_batches(batch):
        step, other = (
            outcome(m, kernel, grid, arguments, seed, named, precision) for m in MACHINES
        )
    compare(step, other)
    return other


def on_grid(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> Outcome:
    """`agree` for a launch that is clean and must not need the step machine."""
    found = agree(kernel, grid, *arguments, **named)
    assert not found.findings, found.findings
    assert not found.error, found.error
    assert found.on_grid, "the grid machine gave the launch to the step machine"
    return found

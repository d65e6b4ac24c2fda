"""What goes wrong: in the kernel (`Fault`, `Trap`), in its text (`Malformed`), or here (`Crash`).

A `Fault` is data: what was seen, at which line of PTX and of the kernel, by which CTA and thread.
A kernel goes on after one; a `Trap` ends the launch. The two never mix with a `Crash`, which no
kernel can bring about unless this machine is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blockstep.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Place:
    """A line of PTX and, where `.loc` tells it, the line of the kernel that it was made from."""

    line: int
    text: str = ""
    file: str = ""
    kernel_line: int = 0
    column: int = 0

    def __str__(self) -> str:
        kernel = f" ({self.file}:{self.kernel_line}:{self.column})" if self.file else ""
        return f"PTX line {self.line}{kernel}: {self.text}"


NOWHERE = Place(0)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing found. `kind` is as in findings: out-of-bounds, alignment, uninitialised, race,
    barrier, async, deadlock, assert; `what` says which case of it.

    `cta` is its index in the grid, `thread` the linear index in the CTA, of the first lane that
    was seen; `count` says how many lanes. `related` is the other party of a race."""

    kind: str
    what: str
    place: Place
    cta: tuple[int, int, int] = (0, 0, 0)
    thread: int = 0
    count: int = 1
    address: int = 0
    size: int = 0
    related: Place | None = None
    related_thread: int | None = None

    def __str__(self) -> str:
        lanes = f"; {self.count} lanes" if self.count > 1 else ""
        other = (
            "" if self.related_thread is None else f", other party: thread {self.related_thread}"
        )
        at = "" if self.related is None else f" at {self.related}"
        who = f"[CTA {self.cta}, thread {self.thread}{lanes}{other}{at}]"
        return f"{self.kind}: {self.what} {who} at {self.place}"


class Trap(Exception):
    """The kernel cannot go on, and it is the kernel's fault: `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Malformed(ValueError):
    """Text that is not PTX, or not a whole program."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"PTX line {line}: {what}")
        self.what, self.line = what, line


class NotSupported(UnsupportedError):
    """An instruction or directive that this machine does not have: not a bug in the kernel."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(f"the ptx machine has no `{name}`: {place}")
        self.name, self.place = name, place


class Crash(Exception):
    """This machine is wrong: what happened cannot happen in a program that was taken in."""


@dataclass(slots=True)
class Report:
    """The faults of a launch, each place and case once: the first lanes, and all counted.

    `instructions`: how many were run, times the threads that ran each; `runs`: by block of the
    program, how many threads have run it."""

    faults: list[Fault] = field(default_factory=list)
    occurrences: dict[tuple[str, str, int], int] = field(default_factory=dict)
    instructions: int = 0
    runs: dict[int, int] = field(default_factory=dict)

    def add(self, fault: Fault) -> None:
        """Take in a fault."""
        key = (fault.kind, fault.what, fault.place.line)
        if key not in self.occurrences:
            self.faults.append(fault)
        self.occurrences[key] = self.occurrences.get(key, 0) + fault.count

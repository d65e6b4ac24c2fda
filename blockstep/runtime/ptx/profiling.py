"""What launches on the ptx machine cost, by line of the kernel's source.

Counted, not timed: thread-instructions, requests of warps, the sectors of global memory and the
wavefronts of shared memory that they took and could have taken. What the copy engine and the matrix
unit move is no request of a warp.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from blockstep.findings import Span
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.traffic import Cost, Pattern, Traffic


@dataclass(slots=True)
class Line:
    """A line of a kernel, over all launches. `span` has no column; its file is empty for PTX that
    names no line of a source."""

    span: Span
    instructions: int = 0
    spaces: dict[str, Cost] = field(default_factory=dict)

    @property
    def taken(self) -> int:
        """Sectors and wavefronts in all."""
        return sum(cost.taken for cost in self.spaces.values())

    @property
    def wasted(self) -> int:
        """Sectors and wavefronts more than there had to be."""
        return sum(cost.taken - cost.least for cost in self.spaces.values())


@dataclass(slots=True)
class KernelProfile:
    """All launches of a kernel."""

    name: str
    launches: int = 0
    lines: dict[tuple[str, int], Line] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """Thread-instructions in all."""
        return sum(line.instructions for line in self.lines.values())

    def worst_first(self) -> list[Line]:
        """The lines, those first that waste most, then those with most instructions."""
        return sorted(
            self.lines.values(),
            key=lambda one: (
                -one.wasted,
                -one.instructions,
                -one.taken,
                one.span.file,
                one.span.line,
            ),
        )

    def add(self, traffic: Traffic, text_of: str = "") -> None:
        """Take in a launch. `text_of` is the file of the PTX, for lines that name no source."""
        for place, threads in traffic.instructions().items():
            self._line(place, text_of).instructions += threads
        for place, cost in traffic.costs.items():
            spaces = self._line(place, text_of).spaces
            known = spaces.setdefault(cost.space, Cost(cost.space))
            known.requests += cost.requests
            known.taken += cost.taken
            known.least += cost.least
            known.nbytes += cost.nbytes
            known.patterns.update(cost.patterns)

    def _line(self, place: Place, text_of: str) -> Line:
        file, line = place.file, place.kernel_line
        if not file or not line:
            file, line = text_of, place.line if text_of else 0
        found = self.lines.get((file, line))
        if found is None:
            found = self.lines[file, line] = Line(Span(file, line))
        return found


@dataclass(slots=True)
class Profile:
    """The launches of a script. `kernel` is a name or a pattern of one; None: every kernel."""

    kernel: str | None = None
    kernels: dict[str, KernelProfile] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    _open: list[tuple[str, Traffic]] = field(default_factory=list)

    def watchers(self, kernel: str, binary: Any) -> Sequence[Any]:
        """A session asks here who is to hear of a launch."""
        if self.kernel is not None and not fnmatch.fnmatch(kernel, self.kernel):
            self.others.add(kernel)
            return ()
        traffic = Traffic()
        self._open.append((kernel, traffic))
        return (traffic,)

    def close(self) -> None:
        """Adds up the launches since the last time."""
        for kernel, traffic in self._open:
            known = self.kernels.setdefault(kernel, KernelProfile(kernel))
            known.launches += 1
            known.add(traffic)
        self._open.clear()


def commonest(cost: Cost) -> Pattern | None:
    """The pattern of most of the requests that took more than they had to."""
    return max(cost.patterns, key=lambda p: (cost.patterns[p], p.runs), default=None)


__all__ = ["KernelProfile", "Line", "Profile", "commonest"]

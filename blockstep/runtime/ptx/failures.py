"""What an unjudged launch on the ptx machine ends with, where a device would have stopped."""

from __future__ import annotations

from blockstep.errors import TritonError
from blockstep.interp.ptx.faults import Fault

STOPS = frozenset({"out-of-bounds", "alignment", "barrier", "deadlock", "assert", "trap", "async"})
"""Kinds of faults after which a device has stopped, hangs, or computes with what it did not wait
for. Races and unwritten memory are for judged runs."""


class PTXFault(TritonError, RuntimeError):
    """A kernel did what stops a device: a misaligned access, a barrier that some threads never
    reach, a trap. `fault` says what, and at which lines."""

    def __init__(self, kernel: str, fault: Fault) -> None:
        super().__init__(kernel, fault)
        self.kernel, self.fault = kernel, fault

    def __str__(self) -> str:
        return f"`{self.kernel}`: {self.fault}"

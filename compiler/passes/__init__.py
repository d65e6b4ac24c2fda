"""Passes over block IR, and the order they run in.

A pass is a frozen dataclass with a `name` and `apply(function)`; its fields are its options.
Invariant of every pass: valid IR in, valid IR out, and whoever runs the function before and after
sees the same memory, the same findings and the same bits.
"""

from __future__ import annotations

from typing import Protocol

from blockstep.compiler.passes.carried import Carried
from blockstep.compiler.passes.cse import CSE
from blockstep.compiler.passes.dce import DCE
from blockstep.compiler.passes.licm import LICM
from blockstep.compiler.passes.simplify import Simplify
from blockstep.ir import Function, verify


class Pass(Protocol):
    """One rewrite of a function, in place."""

    @property
    def name(self) -> str: ...

    def apply(self, function: Function) -> None: ...


PIPELINE: list[tuple[Pass, str]] = [
    (Simplify(), "first: constants that the language functions made vanish, and dead branches too"),
    (CSE(), "equal index arithmetic, written out at every load, becomes one operation"),
    (LICM(), "after CSE: what a loop repeats is moved out once"),
    (CSE(), "what left two loops, or a loop and the code before it, may be equal"),
    (Carried(), "after CSE: equal values are one, so what a loop hands on unchanged can be seen"),
    (DCE(), "last: what the others left unused"),
]

PASSES: dict[str, Pass] = {one.name: one for one, _ in PIPELINE}


def run(function: Function, until: str | None = None) -> None:
    """Runs the pipeline, up to and with the last pass called `until`; verifies at the end.

    Raises ValueError for a name that is no pass of the pipeline."""
    names = [one.name for one, _ in PIPELINE]
    if until is not None and until not in names:
        raise ValueError(f"no pass is called {until!r}; there are {', '.join(PASSES)}")
    last = len(names) if until is None else len(names) - names[::-1].index(until)
    for one, _ in PIPELINE[:last]:
        apply(one, function)
    verify(function)


def apply(one: Pass, function: Function) -> None:
    """One pass on a function and on those it calls."""
    for callee in function.callees:
        apply(one, callee)
    one.apply(function)


__all__ = [
    "CSE",
    "Carried",
    "DCE",
    "LICM",
    "PASSES",
    "PIPELINE",
    "Pass",
    "Simplify",
    "apply",
    "run",
]

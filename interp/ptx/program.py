"""A kernel, decoded: its blocks as steps, and what its slots hold.

Registers, constants, hardware registers and the addresses of variables all have slots in
`frame.regs`, so that a source operand is an index and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.judging.provenance import Origins
from blockstep.interp.ptx.layout import Layout
from blockstep.interp.ptx.steps import Plain, Step
from blockstep.interp.ptx.syntax import Function, Module, Symbol

TRASH = 0  # the slot of results that nobody wants


@dataclass(frozen=True, slots=True)
class End:
    """How a block ends. `kind` is fall, jump, branch, indexed, exit or barrier."""

    kind: str
    place: Place
    guard: int | None = None
    negated: bool = False
    targets: tuple[int, ...] = ()
    next: int = 0
    instruction: Instruction | None = None
    operands: tuple[int | None, ...] = ()  # slots: of a barrier's number, count, predicate
    result: int = TRASH


@dataclass(slots=True)
class Code:
    """A block, ready to run. `needs` are the slots that it reads, `gives` those it leaves to others."""

    number: int
    steps: list[tuple[Step, tuple[int, ...]]] = field(default_factory=list)
    plain: list[Plain | None] = field(default_factory=list)  # what a step is that only computes
    places: list[Place] = field(default_factory=list)
    count: int = 0  # of instructions, the end among them
    end: End = End("fall", Place(0))
    needs: tuple[int, ...] = ()
    gives: tuple[int, ...] = ()

    def add(self, one: Step | Plain, dead: tuple[int, ...], place: Place) -> None:
        """Put a step at the end; `dead` are the slots that nobody reads after it."""
        self.plain.append(one if isinstance(one, Plain) else None)
        self.steps.append((one.step() if isinstance(one, Plain) else one, dead))
        self.places.append(place)


@dataclass(slots=True)
class Program:
    """A kernel, decoded. Slots hold constants, hardware registers (`specials`, by name), addresses
    of variables in global memory (`symbols`) and registers."""

    module: Module
    entry: Function
    layout: Layout
    codes: list[Code] = field(default_factory=list)
    slots: int = 1
    kinds: dict[int, np.dtype[Any]] = field(default_factory=dict)  # of every slot, once written
    constants: dict[int, Bits] = field(default_factory=dict)
    specials: dict[int, str] = field(default_factory=dict)
    symbols: dict[int, Symbol] = field(default_factory=dict)
    unwritten: dict[int, Bits] = field(default_factory=dict)  # registers that may be read too early
    granule: int = 16  # bytes: the least width of an access of shared memory
    polls: bool = False  # it may wait for other CTAs
    tables: bool = False  # it may take addresses from memory
    partial_barriers: bool = False  # it orders threads by other means than whole-CTA barriers
    by_order: bool = False  # races of it are judged by happens-before
    bulk_writes: bool = False  # the copy engine writes global memory for it
    products: bool = False  # it has wgmma
    origins: dict[int, Origins] = field(default_factory=dict)  # of addresses, by line

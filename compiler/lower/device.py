"""Clocks, places, and the order of dependent launches (PTX ISA, griddepcontrol)."""

from __future__ import annotations

from blockstep.compiler.lower.agree import agree
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation
from blockstep.language import types as ty

_DEPENDENT_LAUNCHES = 90  # the first architecture with them; before, launches never overlap


@lowers("globaltimer")
def _globaltimer(lw: Lowering, operation: Operation) -> None:
    """One lane reads the clock for all: the program instance sees one time."""
    found = lw.b.asm("i64", "mov.u64 $0, %globaltimer;", "=l", [])
    lw.bind(operation.results[0], agree(lw, Item(found, ty.int64), None))


@lowers("smid")
def _smid(lw: Lowering, operation: Operation) -> None:
    """A CTA stays where it is; those of a cluster go by the first."""
    found = Item(lw.b.call("i32", "llvm.nvvm.read.ptx.sreg.smid", []), ty.int32)
    lw.bind(operation.results[0], agree(lw, found, None) if lw.options.num_ctas > 1 else found)


@lowers("gdc_wait")
def _gdc_wait(lw: Lowering, operation: Operation) -> None:
    if lw.options.capability >= _DEPENDENT_LAUNCHES:
        lw.b.asm("void", "griddepcontrol.wait;", "~{memory}", [])


@lowers("gdc_launch_dependents")
def _gdc_launch_dependents(lw: Lowering, operation: Operation) -> None:
    if lw.options.capability >= _DEPENDENT_LAUNCHES:
        lw.b.asm("void", "griddepcontrol.launch_dependents;", "~{memory}", [])

"""Who makes compiled code wrong where every pass keeps the result on the grid machine.

In turn: is the code right without one of the passes that are there for speed alone? Is it right
without LLVM's own passes? And which operation is the first whose value goes wrong; which lines of
PTX did it become?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from blockstep.findings import Program, Span, Suspect
from blockstep.interp.ptx.parser import parse
from blockstep.interp.ptx.syntax import Statement
from blockstep.ir import Operation
from blockstep.runtime.ladder.compiling import Made, everywhere, without
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import Ptx
from blockstep.runtime.ladder.probing import first_wrong
from blockstep.runtime.ladder.rung import Rung

OPTIONAL = (
    "pipeline", "flight", "stores", "engine", "licm", "cse", "carried", "simplify", "dce",
)  # fmt: skip
"""Passes without which code is as right, only slower: those that change most come first."""

Agrees = Callable[[Rung], bool]


def suspect_of(
    launch: Launch, made: Made, exact: bool, agrees: Agrees, stored: Span | None,
    program: Program | None,
) -> tuple[Suspect, Operation | None]:  # fmt: skip
    """Who is to blame for the PTX, and the first operation that goes wrong, if it can be told.
    `agrees` says whether a rung does. Memory is as it was before the launch."""

    def right(other: Made) -> bool:
        return agrees(Ptx(other, exact))

    if right(everywhere(made)):
        return Suspect("barriers"), None
    culprit = next((name for name in _candidates(made) if right(without(made, name))), "")
    stage = "lowering"
    if not culprit and right(replace(made, optimised=False, _binaries={})):
        stage = "LLVM"
    operation = None
    if program is not None:
        operation = first_wrong(launch, made, exact, stored, program)
    place = stored
    if operation is not None and operation.location is not None:
        place = operation.location.span
    lines = tuple(ptx_lines(str(made.binary(exact).asm["ptx"]), place)) if place else ()
    return Suspect(stage, without=culprit, lines=lines), operation


def _candidates(made: Made) -> list[str]:
    """Those of the optional passes that change something."""
    changed = [stage.name for stage in made.stages if stage.changed]
    return [name for base in OPTIONAL for name in changed if name.partition(":")[0] == base]


def ptx_lines(text: str, span: Span) -> Iterator[str]:
    """The instructions that a place of the source became, with their line numbers."""
    module, last = parse(text), 0
    files = {number for number, name in module.files.items() if span.file.endswith(name)}
    for function in module.functions.values():
        for statement in function.body or ():
            if not isinstance(statement, Statement) or statement.location is None:
                continue
            at = statement.location
            if at.file in files and at.line == span.line and at.column in (0, span.column):
                number = statement.instruction.line
                if number == last:  # several instructions of one inline assembly
                    continue
                last = number
                yield f"{number}: {module.lines[number - 1].strip()}"


__all__ = ["Agrees", "ptx_lines", "suspect_of"]

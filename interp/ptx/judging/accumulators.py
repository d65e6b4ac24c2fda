"""Where a kernel uses the sums of a wgmma that may still be at work: before the wait for its group.

Found by looking at the text once: along every way through the kernel, how many groups have been
committed since a wgmma wrote a register; `wgmma.wait_group n` leaves the last n of them. Where ways
meet, the later wgmma counts. Another wgmma may go on with the same registers, and a `mov` between
registers only gives them other names: that is how compilers carry sums around a loop.
"""

from __future__ import annotations

from blockstep.interp.ptx import flow
from blockstep.interp.ptx.parameters import COPY
from blockstep.interp.ptx.syntax import Register, Statement

Ages = dict[Register, int]  # groups committed since a register was written, of those at work


def too_early(blocks: list[flow.Block]) -> frozenset[int]:
    """The lines that use a register before it is there."""
    entries: dict[int, Ages] = {0: {}}
    work = [0]
    while work:
        number = work.pop()
        left = _through(blocks[number], dict(entries[number]), None)
        for successor in blocks[number].successors:
            if _join(entries, successor, left):
                work.append(successor)
    found: set[int] = set()
    for number, entry in entries.items():
        _through(blocks[number], dict(entry), found)
    return frozenset(found)


def _join(entries: dict[int, Ages], number: int, ages: Ages) -> bool:
    """Whether a way into a block brings something new."""
    known = entries.get(number)
    if known is None:
        entries[number] = dict(ages)
        return True
    new = {r: age for r, age in ages.items() if age < known.get(r, age + 1)}
    known.update(new)
    return bool(new)


def _through(block: flow.Block, ages: Ages, found: set[int] | None) -> Ages:
    """What is at work behind a block; `found` takes the lines that are too early."""
    for s in flow.all_of(block):
        i = s.instruction
        if i.opcode == "wgmma" and "mma_async" not in i.modifiers:
            ages = _waited(s, ages)
            continue
        if i.opcode == "wgmma":
            used = [o for o in flow.flattened(i.operands[1:]) if isinstance(o, Register)]
            made = dict.fromkeys(flow.written(s), 0)
        else:
            used, made = flow.read(s), {}
            source = _renamed(s)
            if source is not None:
                used = []
                made = {r: ages[source] for r in flow.written(s) if source in ages}
        if not ages and not made:
            continue
        if found is not None and not ages.keys().isdisjoint(used):
            found.add(i.line)
        for register in flow.written(s):
            ages.pop(register, None)
        ages.update(made)
    return ages


def _waited(s: Statement, ages: Ages) -> Ages:
    words, operands = s.instruction.modifiers, s.instruction.operands
    if "commit_group" in words:
        return {r: age + 1 for r, age in ages.items()}
    if "wait_group" in words:
        return {r: age for r, age in ages.items() if age <= operands[0].value}
    return ages


def _renamed(s: Statement) -> Register | None:
    """The register whose value a `mov` gives another name."""
    i = s.instruction
    if (
        i.opcode not in ("mov", COPY)
        or s.guard is not None
        or not isinstance(i.operands[0], Register)
    ):
        return None
    source = i.operands[1]
    return source if isinstance(source, Register) else None

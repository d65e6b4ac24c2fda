"""Which registers are needed where: what a block takes, leaves and may forget after each statement.

Sets of slots are the bits of an int. A guarded statement needs what it may leave as it was, so that a
register is dead only where nobody can see it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockstep.interp.ptx import flow
from blockstep.interp.ptx.syntax import Register, Statement


class Live:
    """Which registers are needed where. Sets of slots, by block."""

    def __init__(self, blocks: list[flow.Block], slot: Callable[[Register], int]) -> None:
        self._slot = slot
        self._registers: dict[int, Register] = {}
        self._reads = [[self._of(flow.read(s)) for s in flow.all_of(b)] for b in blocks]
        self._writes = [[self._of(flow.written(s)) for s in flow.all_of(b)] for b in blocks]
        self._in, self._out = self._solved(blocks)

    def _of(self, registers: list[Register]) -> set[int]:
        found = set()
        for register in registers:
            slot = self._slot(register)
            self._registers[slot] = register
            found.add(slot)
        return found

    def _solved(self, blocks: list[flow.Block]) -> tuple[list[int], list[int]]:
        exposed, killed = [], []
        for reads, writes in zip(self._reads, self._writes, strict=True):
            need = kill = 0
            for read, write in zip(reads, writes, strict=True):
                need |= _set(read) & ~kill
                kill |= _set(write)
            exposed.append(need)
            killed.append(kill)
        into, out = list(exposed), [0] * len(blocks)
        changed = True
        while changed:
            changed = False
            for n in reversed(range(len(blocks))):
                left = 0
                for successor in blocks[n].successors:
                    left |= into[successor]
                need = exposed[n] | (left & ~killed[n])
                if left != out[n] or need != into[n]:
                    out[n], into[n], changed = left, need, True
        self._exposed, self._killed = exposed, killed
        return into, out

    def early(self) -> list[tuple[int, Register]]:
        """Registers that some path reads before it writes them."""
        return [(s, self._registers[s]) for s in _members(self._in[0])]

    def into(self, block: flow.Block) -> set[int]:
        """Registers that a block reads as others left them."""
        return set(_members(self._exposed[block.number]))

    def given(self, block: flow.Block) -> set[int]:
        """Registers that a block writes and others read."""
        return set(_members(self._killed[block.number] & self._out[block.number]))

    def hand_on(self, block: flow.Block) -> set[int]:
        """The places in a block of products (wgmma) whose accumulators the next product on them
        takes, in this block, before anybody looks at them."""
        n = block.number
        found = set()
        for k, statement in enumerate(block.body):
            ends = _accumulators(statement)
            if not ends:
                continue
            slots = self._writes[n][k]
            for later in range(k + 1, len(block.body)):
                if not slots.isdisjoint(self._reads[n][later] | self._writes[n][later]):
                    if _accumulators(block.body[later]) == ends:
                        found.add(k)
                    break
        return found

    def deaths(self, block: flow.Block) -> list[set[int]]:
        """For each statement the registers that nobody reads after it."""
        n = block.number
        live = set(_members(self._out[n]))
        found: list[set[int]] = []
        for reads, writes in zip(reversed(self._reads[n]), reversed(self._writes[n]), strict=True):
            found.append((reads | writes) - live)
            live = (live - writes) | reads
        found.reverse()
        return found[: len(block.body)]


def _accumulators(statement: Statement) -> Any:
    """The accumulators of an unguarded product whose other operands are none of them."""
    i = statement.instruction
    if i.opcode != "wgmma" or "mma_async" not in i.modifiers or statement.guard is not None:
        return None
    others = {*flow.flattened(i.operands[1:])}
    return None if others & {*i.operands[0]} else i.operands[0]


def _set(slots: set[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def _members(bits: int) -> list[int]:
    return [n for n, digit in enumerate(reversed(bin(bits)[2:])) if digit == "1"]

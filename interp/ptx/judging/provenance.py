"""Which parameters an address comes from: an access has to stay in what they point at.

Found by looking at the text once, whatever way control takes: a register has the parameters of all
that it is computed from. What a kernel loads as 64 bits may be any pointer, and an address made with
it may go anywhere; so may one made from the address of a variable. Narrower values are no pointers.

So an index that runs from one array into another is told although memory is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockstep.interp.memory import AddressSpace, Storage
from blockstep.interp.ptx import flow
from blockstep.interp.ptx.isa.registry import WIDTH
from blockstep.interp.ptx.layout import Layout
from blockstep.interp.ptx.syntax import Address, Register, Statement, Symbol

Origins = frozenset[int]  # offsets of parameters
_ANY = -1  # among them: from anywhere
_POINTERS = range(1 << 32, 1 << 57)  # other numbers in 64 bits are no addresses
_LOADS = frozenset({"ld", "ldu", "atom", "call"})
_ACCESSES = frozenset({"ld", "ldu", "st", "atom", "red", "cp"})
_ELSEWHERE = frozenset({"shared", "local", "param"})


def origins(statements: Sequence[Statement], layout: Layout) -> dict[int, Origins]:
    """For each line with an access of global memory the parameters that its address comes from;
    lines whose address may come from anywhere are left out."""
    known = _Known(statements, layout)
    found: dict[int, Origins] = {}
    for s in statements:
        i = s.instruction
        if i.opcode in _ACCESSES:
            for base in _bases(s):
                found[i.line] = found.get(i.line, frozenset()) | known.of(base)
    return {line: one for line, one in found.items() if one and _ANY not in one}


def allowed(
    lines: dict[int, Origins], parameters: bytes, space: AddressSpace
) -> dict[int, tuple[Storage, ...]]:
    """For each line the storages that its parameters point at in this launch."""
    found = {}
    for line, offsets in lines.items():
        values = [int.from_bytes(parameters[at : at + 8], "little") for at in offsets]
        pointers = [value for value in values if value in _POINTERS]
        storages = [space._known(value) for value in pointers]
        if storages and None not in storages:
            found[line] = tuple(s for s in storages if s is not None)
    return found


def _bases(s: Statement) -> list[Register]:
    """The registers with addresses that may be of global memory."""
    i = s.instruction
    spaces = {m.split("::")[0] for m in i.modifiers}
    if (i.opcode != "cp" and spaces & _ELSEWHERE) or "tensor" in spaces:
        return []
    operands = [o for o in i.operands if isinstance(o, Address)]
    if i.opcode == "cp":  # [to], [from]
        named = [m.split("::")[0] for m in i.modifiers if m.split("::")[0] in ("shared", "global")]
        operands = operands[1:2] if named[-1:] == ["global"] else operands[:1]
    bases = [o.base for o in operands]
    return [b for b in bases if isinstance(b, Register) and WIDTH.get(b.type) == 64]


class _Known:
    """The origins of every register."""

    def __init__(self, statements: Sequence[Statement], layout: Layout) -> None:
        self.places = {variable.name: at for variable, at in layout.parameters}
        self.found: dict[Register, set[int]] = {}
        steps = [step for s in statements if (step := self._step(s)) is not None]
        changed = True
        while changed:
            changed = False
            for results, sources, seeds in steps:
                news = seeds.union(*[self.found.get(r, seeds) for r in sources])
                for register in results:
                    have = self.found.setdefault(register, set())
                    changed |= not news <= have
                    have |= news

    def of(self, register: Register) -> Origins:
        """The origins of a register; nothing is known of one that nothing gives a value."""
        return frozenset(self.found.get(register) or {_ANY})

    def _step(self, s: Statement) -> tuple[list[Register], list[Register], set[int]] | None:
        """What a statement writes, the registers it computes that from, and other origins."""
        i = s.instruction
        results = [r for r in flow.written(s) if r.type != "pred"]
        if not results:
            return None
        if i.opcode in _LOADS:
            narrow = bool(i.types) and WIDTH.get(i.types[-1], 64) < 64
            at = self._parameter(s)
            return results, [], set() if narrow else {_ANY if at is None else at}
        used = list(flow.flattened(i.operands[1:]))
        seeds = {_ANY} if any(isinstance(o, Symbol) for o in used) else set()
        return results, [o for o in used if isinstance(o, Register) and o.type != "pred"], seeds

    def _parameter(self, s: Statement) -> int | None:
        """Where among the parameters a load reads, if it does."""
        i = s.instruction
        address = next((o for o in i.operands if isinstance(o, Address)), None)
        if address is None or not {"param", "param::entry"} & set(i.modifiers):
            return None
        base, several = address.base, isinstance(i.operands[0], tuple)
        if not isinstance(base, Symbol) or base.name not in self.places or several:
            return None
        return self.places[base.name] + base.offset + address.offset

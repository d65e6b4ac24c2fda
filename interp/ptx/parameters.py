"""The memory of parameters between functions, which is registers here: one for each stretch of bytes
that some instruction loads or stores.

Compilers widen small integers where they store an argument and load the bytes that they need (LLVM
passes an i8 in a `.b32`). So a store also writes every narrower stretch of its bytes that is loaded
anywhere. Bytes that are put together from several stores are not supported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from blockstep.interp.ptx.faults import NotSupported, Place
from blockstep.interp.ptx.isa.registry import WIDTH, Instruction
from blockstep.interp.ptx.syntax import Immediate, Label, Register, Statement, Symbol, Variable

COPY = "copy.parameter"  # an opcode of our own: a parameter of an inlined call, or out of it
Node = Label | Statement
Stretch = tuple[int, int]  # first byte and how many


def held(actual: tuple[Any, ...], formal: list[Variable]) -> tuple[Register, ...]:
    """The registers that stand for parameters of a function that the machine itself has."""
    pairs = zip(actual, formal, strict=True)
    return tuple([_register(one.name, 0, WIDTH[variable.type] // 8) for one, variable in pairs])


def parameter_access(statement: Statement, slots: set[Any]) -> Iterator[Statement]:
    """`ld.param` and `st.param` of memory between functions: copies between registers."""
    i = statement.instruction
    at = 1 if i.opcode == "ld" else 0
    address = i.operands[at]
    if not isinstance(address.base, Symbol) or address.base.name not in slots:
        yield statement  # the kernel's own parameters
        return
    type = i.types[-1]
    width = max(int(type[1:]) // 8, 1)
    others = i.operands[1 - at]
    for number, other in enumerate(others if isinstance(others, tuple) else (others,)):
        memory = _register(address.base.name, address.offset + number * width, width)
        ends = (other, memory) if i.opcode == "ld" else (memory, other)
        yield replace(statement, instruction=_copy(i, type, ends))


def _copy(i: Instruction, type: str, ends: tuple[Any, Any]) -> Instruction:
    return Instruction(COPY, (i.opcode, type), (type,), i.line, ends)


def _register(slot: str, first: int, size: int) -> Register:
    return Register(f"{slot}+{first}:{size}", f"b{8 * size}")


def _stretch(register: Register) -> tuple[str, Stretch]:
    slot, _, place = register.name.rpartition("+")
    first, _, size = place.partition(":")
    return slot, (int(first), int(size))


def completed(nodes: list[Node]) -> Iterator[Node]:
    """The same, with narrower stretches written where they are loaded. Raises NotSupported."""
    loaded: dict[str, set[Stretch]] = defaultdict(set)
    stored: dict[str, set[Stretch]] = defaultdict(set)
    for register, _, is_load in _accesses(nodes):
        slot, stretch = _stretch(register)
        (loaded if is_load else stored)[slot].add(stretch)
    for register, line, is_load in _accesses(nodes):
        slot, stretch = _stretch(register)
        if is_load and any(_overlaps(s, stretch) and not _covers(s, stretch) for s in stored[slot]):
            raise NotSupported("a parameter that is loaded in one and stored in parts", Place(line))
    for node in nodes:
        yield node
        if isinstance(node, Statement) and _stores(node):
            slot, whole = _stretch(node.instruction.operands[0])
            for part in sorted(loaded[slot]):
                if part != whole and _covers(whole, part):
                    yield from _narrower(node, slot, whole, part)


def _accesses(nodes: list[Node]) -> Iterator[tuple[Register, int, bool]]:
    """Every stretch that is loaded or stored: its register, the line, whether it is a load."""
    for node in nodes:
        if isinstance(node, Label):
            continue
        i = node.instruction
        if i.opcode == COPY:
            is_load = i.modifiers[0] == "ld"
            yield i.operands[1 if is_load else 0], i.line, is_load
        elif i.opcode == "call":  # of a function that the machine itself has
            yield from ((one, i.line, False) for one in i.operands[0])
            yield from ((one, i.line, True) for one in i.operands[2])


def _stores(statement: Statement) -> bool:
    i = statement.instruction
    return i.opcode == COPY and i.modifiers[0] == "st"


def _covers(whole: Stretch, part: Stretch) -> bool:
    return whole[0] <= part[0] and part[0] + part[1] <= whole[0] + whole[1]


def _overlaps(a: Stretch, b: Stretch) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def _narrower(
    statement: Statement, slot: str, whole: Stretch, part: Stretch
) -> Iterator[Statement]:
    """What writes a part of what a store has written."""
    i = statement.instruction
    value = i.operands[1]
    if part[0] > whole[0]:
        wide = f"b{8 * whole[1]}"
        value = Register(f"{slot}+{part[0]}:{part[1]} in {whole[0]}:{whole[1]}", wide)
        shift = Immediate(8 * (part[0] - whole[0]))
        moved = Instruction("shr", (wide,), (wide,), i.line, (value, i.operands[1], shift))
        yield replace(statement, instruction=moved)
    copy = _copy(i, f"b{8 * part[1]}", (_register(slot, *part), value))
    yield replace(statement, instruction=copy)

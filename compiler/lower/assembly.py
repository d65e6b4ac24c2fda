"""Inline PTX of the user's: elements packed into register words and back.

Words are made as the operation's meaning says: elements below 32 bits share a word of 32, the first
in the low bits. A constraint's letter says what register a word goes to. Invariant: a result that
depends on who asks (the text reads a special register) is that of one lane for all holders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.compiler.lower.agree import agree
from blockstep.compiler.lower.core import Lowering, Unlowered, computes, lowers
from blockstep.compiler.lower.text import Item, bits_of, scalar_type
from blockstep.ir import Operation
from blockstep.language import types as ty
from blockstep.language.assembly import Program

_LETTERS = {
    "b": "i1", "c": "i16", "h": "i16", "r": "i32", "l": "i64", "q": "i128", "f": "float",
    "d": "double", "n": "i32", "i": "i32",
}  # fmt: skip
_BITS = {"float": 32, "double": 64}


def _width(register: str) -> int:
    return _BITS.get(register) or int(register[1:])


def _memory_bits(kind: ty.dtype) -> int:
    """Bits of an element in a word: those of its bytes."""
    return max(bits_of(kind), 8)


def _per_word(kind: ty.dtype) -> int:
    return max(32 // _memory_bits(kind), 1)


def registers(program: Program) -> tuple[list[str], list[str]]:
    """The LLVM types of the output and of the input registers. Raises Unlowered for letters that
    are none."""
    outputs: list[str] = []
    inputs: list[str] = []
    for constraint in _constraints(program):
        if constraint.startswith("~"):
            continue
        letter = constraint.lstrip("=&")
        if letter.isdigit() and int(letter) < len(outputs):
            inputs.append(outputs[int(letter)])
        elif letter in _LETTERS:
            (outputs if constraint.startswith("=") else inputs).append(_LETTERS[letter])
        else:
            raise Unlowered(f"the constraint {constraint!r} of inline assembly")
    return outputs, inputs


def _constraints(program: Program) -> list[str]:
    return [c.strip() for c in program.constraints.split(",") if c.strip()]


def _resized(lw: Lowering, name: str, old: int, new: int) -> str:
    if old == new:
        return name
    return lw.b.value(f"{'zext' if old < new else 'trunc'} i{old} {name} to i{new}")


def _word(lw: Lowering, elements: Sequence[str], kind: ty.dtype, register: str) -> str:
    """Some elements of a word as the operand of a register: `i32 %v`."""
    size, own = _memory_bits(kind), scalar_type(kind)
    target = _width(register)
    if len(elements) == 1 and own == register:
        return f"{register} {elements[0]}"
    total = ""
    for place, element in enumerate(elements):
        bits = element
        if own != f"i{bits_of(kind)}":
            bits = lw.b.value(f"bitcast {own} {element} to i{bits_of(kind)}")
        bits = _resized(lw, bits, bits_of(kind), target)
        if place:
            bits = lw.b.value(f"shl i{target} {bits}, {size * place}")
            bits = lw.b.value(f"or i{target} {total}, {bits}")
        total = bits
    if register not in _BITS:
        return f"{register} {total}"
    return f"{register} {lw.b.value(f'bitcast i{target} {total} to {register}')}"


def _elements(lw: Lowering, name: str, register: str, kind: ty.dtype, count: int) -> list[str]:
    """The first `count` elements of a word."""
    own = scalar_type(kind)
    if register == own:
        return [name]
    size, bits = _memory_bits(kind), _width(register)
    if register in _BITS:
        name = lw.b.value(f"bitcast {register} {name} to i{bits}")
    wide = max(bits, size * count)
    name = _resized(lw, name, bits, wide)
    found = []
    for place in range(count):
        moved = lw.b.value(f"lshr i{wide} {name}, {size * place}") if place else name
        part = _resized(lw, moved, wide, size)
        if kind.is_int1():
            part = lw.b.value(f"icmp ne i8 {part}, 0")
        elif own != f"i{size}":
            part = lw.b.value(f"bitcast i{size} {part} to {own}")
        found.append(part)
    return found


def run(
    lw: Lowering, attributes: Any, groups: list[tuple[ty.dtype, list[str]]], pack: int
) -> list[list[str]]:
    """The program on one group of `pack` elements of each operand: those of each result."""
    program: Program = attributes["program"]
    types: tuple[ty.dtype, ...] = attributes["types"]
    outputs, inputs = registers(program)
    chunks = [
        (kind, elements[i : i + _per_word(kind)])
        for kind, elements in groups
        for i in range(0, pack, _per_word(kind))
    ]
    needed = sum(-(-pack // _per_word(t)) for t in types)
    if len(chunks) != len(inputs) or needed > len(outputs):
        raise Unlowered(
            f"inline assembly with {len(outputs)} output and {len(inputs)} input constraints for "
            f"{needed} and {len(chunks)} registers"
        )
    operands = [
        _word(lw, elements, kind, register)
        for (kind, elements), register in zip(chunks, inputs, strict=True)
    ]
    words = _call(lw, program, outputs, operands, attributes.get("pure", True))
    found = []
    for kind in types:
        each, elements = _per_word(kind), []
        for start in range(0, pack, each):
            name, register = words.pop(0)
            elements += _elements(lw, name, register, kind, min(each, pack - start))
        found.append(elements)
    return found


def _call(
    lw: Lowering, program: Program, outputs: list[str], operands: list[str], pure: bool
) -> list[tuple[str, str]]:
    """The output registers, with their types."""
    result = "void"
    if outputs:
        result = outputs[0] if len(outputs) == 1 else lw.b.structure(outputs)
    constraints = ",".join(_constraints(program))
    found = lw.b.asm(result, program.text, constraints, operands, effects=not pure)
    if len(outputs) <= 1:
        return [(found, kind) for kind in outputs]
    return list(zip(lw.b.fields(result, found, len(outputs)), outputs, strict=True))


@computes("asm")
def elementwise(lw: Lowering, attributes: Any, kinds: Any, *items: Item) -> Any:
    """The program at every element."""
    types = attributes["types"]
    if not items:
        found = run(lw, attributes, [], 1)
        return tuple(Item(e, t.scalar) for (e,), t in zip(found, types, strict=True))
    rows = [
        run(lw, attributes, [(i.kind, [p]) for i, p in zip(items, parts, strict=True)], 1)
        for parts in zip(*(lw.parts(i) for i in items), strict=True)
    ]
    return tuple(
        lw.join([row[number][0] for row in rows], kind, items[0].count)
        for number, kind in enumerate(types)
    )


@lowers("asm")
def _asm(lw: Lowering, operation: Operation) -> None:
    kinds = [r.type.scalar for r in operation.results]
    found = lw.compute("asm", operation.attributes, kinds, lw.operands(operation))
    _bind(lw, operation, found)


@lowers("asm_packed")
def _asm_packed(lw: Lowering, operation: Operation) -> None:
    """Groups of neighbours lie in consecutive registers of a lane (`placement.wishes`)."""
    pack, types = operation.attributes["pack"], operation.attributes["types"]
    items = lw.operands(operation)
    rows = [lw.parts(i) for i in items]
    columns: list[list[str]] = [[] for _ in types]
    for start in range(0, len(rows[0]), pack):
        groups = [
            (item.kind, [(row[start : start + pack] + row[:1] * pack)[i] for i in range(pack)])
            for item, row in zip(items, rows, strict=True)
        ]
        for column, elements in zip(
            columns, run(lw, operation.attributes, groups, pack), strict=True
        ):
            column += elements
    count = items[0].count
    found = [
        lw.join(column[: len(rows[0])], kind, count)
        for column, kind in zip(columns, types, strict=True)
    ]
    _bind(lw, operation, found)


def _bind(lw: Lowering, operation: Operation, items: Sequence[Item]) -> None:
    """The results, agreed upon where lanes may see different special registers."""
    special = "%" in operation.attributes["program"].text
    for result, item in zip(operation.results, items, strict=True):
        layout = None if result.layout is None else lw.layout(result)
        lw.bind(result, agree(lw, item, layout) if special else item)

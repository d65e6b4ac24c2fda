"""LLVM IR as text: types, constants, and a builder that numbers values.

Text is what the assembler library parses anyway, and writing it is several times faster than a tree of
objects. Invariant: every line appended is one instruction of the open basic block.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from blockstep.language import types as ty

LONG = 16  # elements
_USED = re.compile(r"%v\d+\b(?! =)")
_FLOATS = {"fp16": "half", "bf16": "bfloat", "fp32": "float", "fp64": "double"}


def scalar_type(kind: ty.dtype) -> str:
    """The LLVM type of one element: pointers are 64-bit addresses, 8-bit floats their bits."""
    kind = kind.scalar
    if kind.is_ptr():
        return "i64"
    if kind.is_floating():
        return _FLOATS.get(kind.name, f"i{kind.primitive_bitwidth}")
    return f"i{kind.primitive_bitwidth}"


def bits_of(kind: ty.dtype) -> int:
    """How many bits one element takes in a register (an int1 takes one)."""
    return 64 if kind.scalar.is_ptr() else int(kind.scalar.primitive_bitwidth)


def type_of(typed: str) -> str:
    """The type of `type value`: `<4 x float>`, `ptr addrspace(3)`, `i32`."""
    if typed.startswith("<"):
        return typed[: typed.index(">") + 1]
    words = typed.split(" ")
    return " ".join(words[: 2 if words[1].startswith("addrspace") else 1])


def vector(count: int | None, element: str) -> str:
    """`<count x element>`, or the element for a scalar."""
    return element if count is None else f"<{count} x {element}>"


def float_text(value: float, element: str) -> str:
    """A float constant of an LLVM type, exact (NaN is the canonical quiet one)."""
    if element == "double":
        return "0x" + struct.pack(">d", value).hex()
    if element == "float":
        with np.errstate(over="ignore"):
            return "0x" + struct.pack(">d", float(np.float32(value))).hex()
    if element == "half":
        with np.errstate(over="ignore"):
            return "0xH" + np.float16(value).view(np.uint16).tobytes()[::-1].hex()
    if element == "bfloat":
        return "0xR" + ml_dtypes.bfloat16(value).tobytes()[::-1].hex()
    raise ValueError(f"no float type: {element}")


@dataclass(frozen=True, slots=True)
class Item:
    """One lowered value: an LLVM value or constant, the type of an element, and how many elements
    a lane holds (None for a scalar, which all lanes agree on)."""

    name: str
    kind: ty.dtype
    count: int | None = None

    @property
    def element(self) -> str:
        """The LLVM type of an element."""
        return scalar_type(self.kind)

    @property
    def type(self) -> str:
        """The LLVM type."""
        return vector(self.count, scalar_type(self.kind))

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


class Builder:
    """Appends instructions to a function's basic blocks, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self.debug = ""  # appended to each instruction: `, !dbg !7`
        self.declared: dict[str, str] = {}  # name -> declaration
        self.types: dict[str, str] = {}  # definition of a structure -> its name
        self.joins: list[tuple[str, range]] = []  # a vector made of elements, and its lines
        self._count = 0

    def name(self, hint: str = "v") -> str:
        """A new name, without the sigil."""
        self._count += 1
        return f"{hint}{self._count}"

    def value(self, instruction: str) -> str:
        """Appends an instruction that gives a value."""
        name = "%" + self.name()
        self.lines.append(f"  {name} = {instruction}{self.debug}")
        return name

    def effect(self, instruction: str) -> None:
        """Appends an instruction that gives none."""
        self.lines.append(f"  {instruction}{self.debug}")

    def label(self, name: str) -> None:
        """Opens a basic block; the one before must have ended in a branch."""
        self.lines.append(f"{name}:")
        self.block = name

    def branch(self, target: str) -> None:
        """Ends the block by a jump."""
        self.effect(f"br label %{target}")

    def choose(self, condition: str, then: str, otherwise: str) -> None:
        """Ends the block by a choice on an i1."""
        self.effect(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def phi(self, type: str) -> Phi:
        """A phi of the open block whose incoming values are given later."""
        found = Phi(self, "%" + self.name(), type, len(self.lines))
        self.lines.append("")
        return found

    def declare(self, name: str, declaration: str) -> None:
        """A function that the module needs, once."""
        self.declared[name] = declaration

    def call(self, result: str, name: str, operands: Sequence[str], attributes: str = "") -> str:
        """Calls a function that is declared by its use; `operands` are `type value`."""
        kinds = ", ".join(map(type_of, operands))
        self.declare(name, f"declare {result} @{name}({kinds}) {attributes}".rstrip())
        text = f"call {result} @{name}({', '.join(operands)})"
        if result == "void":
            self.effect(text)
            return ""
        return self.value(text)

    def asm(
        self, result: str, template: str, constraints: str, operands: Sequence[str],
        *, effects: bool = True,
    ) -> str:  # fmt: skip
        """Inline PTX. With `effects` it is neither moved nor left out."""
        kind = "asm sideeffect" if effects else "asm"
        text = (
            template.replace("\\", "\\5C")
            .replace('"', "\\22")
            .replace("\n", "\\0A")
            .replace("\t", " ")
        )
        line = f'call {result} {kind} "{text}", "{constraints}"({", ".join(operands)})'
        if effects:
            line += " #1"  # convergent nounwind: see `module`
        if result == "void":
            self.effect(line)
            return ""
        return self.value(line)

    def structure(self, elements: Sequence[str]) -> str:
        """The type of several results of an inline assembly, by a short name: it stands in one line
        for each of them, and a product has 128."""
        definition = f"type {{{', '.join(elements)}}}"
        return self.types.setdefault(definition, f"%results{len(self.types)}")

    def fields(self, type: str, value: str, count: int) -> list[str]:
        """The members of a structure."""
        return [self.value(f"extractvalue {type} {value}, {i}") for i in range(count)]

    def join(self, parts: Sequence[str], element: str) -> str:
        """A vector of scalars."""
        first = len(self.lines)
        type, name = vector(len(parts), element), "poison"
        for i, part in enumerate(parts):
            name = self.value(f"insertelement {type} {name}, {element} {part}, i32 {i}")
        self.joins.append((name, range(first, len(self.lines))))
        return name

    def drop_unused_joins(self) -> None:
        """Leaves out vectors of which only the elements were used: LLVM would, but has to read
        them first. Worth looking for in long ones alone."""
        joins = [one for one in self.joins if len(one[1]) >= LONG]
        used = set(_USED.findall("\n".join(self.lines))) if joins else set()
        for name, lines in joins:
            if name not in used:
                self.lines[lines.start : lines.stop] = [""] * len(lines)


class Phi:
    """A phi whose incoming values are known once the loop's body is lowered."""

    def __init__(self, builder: Builder, name: str, type: str, line: int) -> None:
        self.name, self.type = name, type
        self._builder, self._line = builder, line
        self._incoming: list[str] = []

    def add(self, value: str, block: str) -> None:
        """The value when control comes from `block`."""
        self._incoming.append(f"[ {value}, %{block} ]")
        text = f"  {self.name} = phi {self.type} {', '.join(self._incoming)}"
        self._builder.lines[self._line] = text


__all__ = ["Builder", "Item", "Phi", "bits_of", "float_text", "scalar_type", "vector"]

"""The text of inline PTX as instructions. Declarations and braces carry no meaning here: registers
are untyped words, named as in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

Operand = str | tuple[str, ...]  # a register, a number, `[address]`; a tuple for `{a, b}`

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GUARD = re.compile(r"@(!?)([%$\w]+)\s+(.*)", re.DOTALL)
_VECTOR_OR_PART = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,{\[\s][^,]*")


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@!p name.part.part a, {b, c}`; `text` is what stood there."""

    text: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: str | None = None
    negated: bool = False

    @property
    def name(self) -> str:
        return self.parts[0]


def statements(text: str) -> list[str]:
    """The statements between semicolons; a brace at the start of one only opens or closes a scope."""
    found, current = [], ""
    for letter in _COMMENT.sub(" ", text):
        if letter == ";":
            found.append(current.strip())
            current = ""
        elif letter not in "{}" or current.strip():
            current += letter
    found.append(current.strip())
    return [statement for statement in found if statement]


def parse(text: str) -> list[Instruction]:
    """The instructions of an inline assembly string, without its declarations."""
    return [_instruction(s) for s in statements(text) if not s.startswith(".reg")]


def _instruction(statement: str) -> Instruction:
    guard = _GUARD.match(statement)
    body = guard.group(3) if guard else statement
    name, _, rest = body.strip().partition(" ")
    operands = tuple(_operand(part.strip()) for part in _VECTOR_OR_PART.findall(rest))
    return Instruction(
        " ".join(statement.split()),
        tuple(name.split(".")),
        tuple(o for o in operands if o),
        guard.group(2) if guard else None,
        bool(guard and guard.group(1)),
    )


def _operand(part: str) -> Operand:
    if part.startswith("{"):
        return tuple(name.strip() for name in part.strip("{}").split(","))
    return part

"""Statements of PTX out of tokens: guards, instructions, operands.

`Statements` is where a reader stands in a text, with the names that are declared there; the parser of
whole modules builds on it.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from blockstep.interp.ptx.faults import Malformed
from blockstep.interp.ptx.isa.registry import WIDTH, Instruction
from blockstep.interp.ptx.lexer import Token, tokens
from blockstep.interp.ptx.syntax import (
    Address,
    Immediate,
    Location,
    Negated,
    Register,
    Sink,
    Special,
    Statement,
    Symbol,
)

_END = Token("end", "", 0)
TYPES = frozenset(WIDTH) | {"pred"}


class Statements:
    """The tokens of a text that are left. `scopes` has the names of each open block."""

    def __init__(self, text: str) -> None:
        self.left = [*tokens(text), _END]
        self.at = 0
        self.scopes: list[dict[str, Register | str]] = []
        self.location: Location | None = None

    # tokens

    @property
    def next(self) -> Token:
        return self.left[self.at]

    def take(self) -> Token:
        one = self.left[self.at]
        if one is not _END:
            self.at += 1
        return one

    def has(self, text: str) -> bool:
        """Whether this is next; it is taken then."""
        one = self.left[self.at]
        found = one.text == text and one.kind != "string" and one is not _END
        self.at += found
        return found

    def need(self, text: str) -> None:
        if not self.has(text):
            self.fail(f"expected {text!r} and found {self.next.text!r}")

    def fail(self, what: str) -> NoReturn:
        last = self.left[-2].line if len(self.left) > 1 else 1
        line = self.next.line or last
        raise Malformed(what, line)

    def rest_of_line(self, line: int) -> list[Token]:
        found = []
        while self.next.kind != "end" and self.next.line == line:
            found.append(self.take())
        return found

    def number(self) -> int:
        value = self.immediate()
        if value.float_width:
            self.fail("expected an integer")
        return value.value

    def resolved(self, name: str) -> Register | str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    # statements

    def statement(self) -> Statement:
        guard, negated = None, False
        if self.has("@"):
            negated = self.has("!")
            found = self.resolved(self.take().text)
            if not isinstance(found, Register):
                self.fail(f"the guard {found!r} is not a register")
            guard = found
        one = self.take()
        if one.kind != "word":
            raise Malformed(f"{one.text!r} is not an instruction", one.line)
        opcode, *modifiers = one.text.split(".")
        operands = self.call_operands() if opcode == "call" else self.operands()
        types = tuple([m for m in modifiers if m in TYPES])
        made = Instruction(opcode, tuple(modifiers), types, one.line, operands)
        return Statement(made, guard, negated, self.location)

    def operands(self) -> tuple[Any, ...]:
        found: list[Any] = []
        while not self.has(";"):
            found.append(self.operand())
            if self.next.text not in (",", ";"):
                self.fail(f"{self.next.text!r} stands where an operand ends")
            self.has(",")
        return tuple(found)

    def call_operands(self) -> tuple[Any, ...]:
        """(results, function, arguments[, prototype])."""
        parts: list[Any] = []
        while not self.has(";"):
            if self.has("("):
                inside = []
                while not self.has(")"):
                    inside.append(self.operand())
                    self.has(",")
                parts.append(tuple(inside))
            else:
                parts.append(self.operand())
            self.has(",")
        if not isinstance(parts[0], tuple):
            parts.insert(0, ())
        if len(parts) == 2:
            parts.append(())
        return tuple(parts)

    def operand(self) -> Any:
        one = self.next
        if self.has("{"):
            return self.vector()
        if self.has("["):
            return self.address()
        if self.has("!"):
            return Negated(self.operand())
        if one.kind == "number" or one.text in ("-", "~", "+"):
            return self.immediate()
        if one.kind != "word":
            self.fail(f"{one.text!r} is no operand")
        found = self.named(self.take().text)
        if self.has("|"):
            return (found, self.named(self.take().text))
        return found

    def vector(self) -> tuple[Any, ...]:
        found = []
        while not self.has("}"):
            found.append(self.operand())
            self.has(",")
        return tuple(found)

    def named(self, name: str) -> Any:
        if name == "_":
            return Sink()
        if name == "WARP_SZ":
            return Immediate(32)
        found = self.resolved(name)
        if isinstance(found, Register):
            return found
        if name.startswith("%"):
            return Special(name)
        return Symbol(found, self.offset())

    def offset(self) -> int:
        if self.has("+"):
            return -self.number() if self.has("-") else self.number()
        if self.next.text == "-":
            return self.number()
        return 0

    def address(self) -> Address:
        base = self.operand()
        if not isinstance(base, Register | Symbol | Immediate):
            self.fail("an address begins with a register, a variable or a number")
        offset = self.offset()
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), offset + base.offset
        rest = []
        while self.has(","):
            rest.append(self.operand())
        self.need("]")
        return Address(base, offset, tuple(rest))

    def immediate(self) -> Immediate:
        sign = 1
        while self.next.text in ("-", "+"):
            sign *= -1 if self.take().text == "-" else 1
        if self.has("~"):
            return Immediate(~self.number())
        one = self.take()
        if one.kind != "number":
            self.fail(f"{one.text!r} is not a number")
        text = one.text.rstrip("U")
        if text[:2] in ("0f", "0F"):
            return Immediate(int(text[2:], 16) ^ ((1 << 31) if sign < 0 else 0), 32)
        if text[:2] in ("0d", "0D"):
            return Immediate(int(text[2:], 16) ^ ((1 << 63) if sign < 0 else 0), 64)
        if "." in text:
            return Immediate(struct.unpack("<Q", struct.pack("<d", sign * float(text)))[0], 64)
        base = 8 if len(text) > 1 and text.isdigit() and text[0] == "0" else 0
        return Immediate(sign * int(text, base))

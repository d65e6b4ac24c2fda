"""Reads the text form back. A text that does not follow it raises `ParseError` with its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from blockstep.findings import Span
from blockstep.ir.core import Function, Location, Operation, Region, Value
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.ir.placed import PLACED
from blockstep.ir.structure import STRUCTURE
from blockstep.ir.text import Host
from blockstep.language import types as ty
from blockstep.language.op import OPS, Op
from blockstep.language.region import Operation as Step
from blockstep.language.region import Region as Combine

T = TypeVar("T")
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[A-Za-z0-9_.$]+)"""
    r"""|(?P<number>-?(?:inf\b|\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+))"""
    r"""|(?P<layout>(?:layout|shared)<[^>]*>)|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<mark>->|[-{}()\[\]<>=,:;!@^])"""
)


class ParseError(ValueError):
    """A text that is not IR."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What the text says of a value: its type and, in placed IR, its layout and its runs."""

    type: ty.dtype
    layout: Layout | SharedLayout | None
    run: int

    def give(self, value: Value) -> None:
        """Makes it true of a value of that type."""
        value.layout, value.run = self.layout, self.run


class _Tokens:
    def __init__(self, text: str) -> None:
        self.items: list[tuple[str, str, int]] = []
        place, line = 0, 1
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise ParseError(f"line {line}: {text[place : place + 20]!r} is no token")
            if match.lastgroup is not None:
                self.items.append((match.lastgroup, match.group(), line))
            line += match.group().count("\n")
            place = match.end()
        self.place = 0

    @property
    def line(self) -> int:
        return self.items[min(self.place, len(self.items) - 1)][2]

    def peek(self) -> str:
        return self.items[self.place][1] if self.place < len(self.items) else ""

    def kind(self) -> str:
        return self.items[self.place][0] if self.place < len(self.items) else ""

    def take(self, wanted: str | None = None) -> str:
        found = self.peek()
        if wanted is not None and found != wanted:
            raise ParseError(f"line {self.line}: expected {wanted!r}, found {found!r}")
        self.place += 1
        return found

    def accept(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.place += 1
            return True
        return False


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _Tokens(text)
        self.values: dict[str, Value] = {}
        self.functions: dict[str, Function] = {}

    def functions_all(self) -> list[Function]:
        found = []
        while self.tokens.peek():
            found.append(self.function())
        return found

    def function(self) -> Function:
        take = self.tokens.take
        take("func"), take("@")
        name = take()
        self.values = {}
        parameters = self.arguments()
        take("->")
        results = self.bracketed("(", ")", self.type)
        take("const")
        constants = self.attributes()
        function = Function(name, [held.type for _, held in parameters], [], results, constants)
        for (label, held), value in zip(parameters, function.parameters, strict=True):
            self.define(label, value)
            held.give(value)
        self.functions[name] = function
        take("{")
        while not self.tokens.accept("}"):
            function.body.append(self.operation(function))
        return function

    def define(self, label: str, value: Value) -> None:
        name, _, number = label[1:].rpartition(".")
        value.name = name if number.isdigit() else ""
        self.values[label] = value

    def arguments(self) -> list[tuple[str, _Held]]:
        def one() -> tuple[str, _Held]:
            label = self.tokens.take()
            self.tokens.take(":")
            return label, self.held()

        return self.bracketed("(", ")", one)

    def held(self) -> _Held:
        kind = self.type()
        layout = self.layout() if self.tokens.kind() == "layout" else None
        return _Held(kind, layout, int(self.tokens.take()) if self.tokens.accept("run") else 1)

    def layout(self) -> Layout | SharedLayout:
        line, text = self.tokens.line, self.tokens.take()
        kind = SharedLayout if text.startswith("shared") else Layout
        try:
            return kind.parse(text)
        except ValueError as error:
            raise ParseError(f"line {line}: {error}") from None

    def bracketed(self, opening: str, closing: str, one: Callable[[], T]) -> list[T]:
        self.tokens.take(opening)
        found: list[T] = []
        while not self.tokens.accept(closing):
            found.append(one())
            self.tokens.accept(",")
        return found

    def listed(self, one: Callable[[], T]) -> list[T]:
        found = [one()]
        while self.tokens.accept(","):
            found.append(one())
        return found

    def type(self) -> ty.dtype:
        const = self.tokens.accept("const")
        word = self.tokens.take()
        kind: ty.dtype
        if word == "pointer":
            self.tokens.take("<")
            kind = ty.pointer_type(self.type(), const=const)
            self.tokens.take(">")
        elif ty.dtype.is_dtype(word):
            kind = ty.dtype(word)
        else:
            raise ParseError(f"line {self.tokens.line}: {word!r} is no type")
        if self.tokens.peek() == "[":
            return ty.block_type(kind, self.bracketed("[", "]", lambda: int(self.tokens.take())))
        return kind

    def operation(self, function: Function) -> Operation:
        labels: list[str] = []
        if self.tokens.kind() == "value":
            labels = self.listed(self.tokens.take)
            self.tokens.take("=")
        line, name = self.tokens.line, self.tokens.take()
        op = STRUCTURE.get(name) or PLACED.get(name) or OPS.get(name)
        if op is None:
            raise ParseError(f"line {self.tokens.line}: no operation is called {name!r}")
        operands: list[Value] = []
        if self.tokens.kind() == "value" and self.tokens.line == line:  # else a result: `barrier`
            operands = self.listed(self.use)
        attributes = self.attributes() if self._attributes_follow() else {}
        kinds = self.listed(self.held) if labels and self.tokens.take(":") else []
        operation = Operation(op, operands, [held.type for held in kinds], attributes)
        for label, result, held in zip(labels, operation.results, kinds, strict=True):
            self.define(label, result)
            held.give(result)
        self._regions(operation, function)
        operation.location = self.location()
        callee = attributes.get("callee")
        if isinstance(callee, Function) and callee not in function.callees:
            function.callees.append(callee)
        return operation

    def _attributes_follow(self) -> bool:
        """`{name=`, as against the `{` of a region."""
        items, place = self.tokens.items, self.tokens.place
        return (
            self.tokens.peek() == "{" and place + 2 < len(items) and items[place + 2][1] == "="
            and items[place + 1][0] == "word"
        )  # fmt: skip

    def _regions(self, operation: Operation, function: Function) -> None:
        while self.tokens.accept("{"):
            region = Region()
            region.parent = operation
            operation.regions.append(region)
            if self.tokens.accept("^"):
                for label, held in self.arguments():
                    self.define(label, argument := region.add_argument(held.type))
                    held.give(argument)
            while not self.tokens.accept("}"):
                region.append(self.operation(function))

    def use(self) -> Value:
        label = self.tokens.take()
        if label not in self.values:
            raise ParseError(f"line {self.tokens.line}: {label} is used before it is computed")
        return self.values[label]

    def attributes(self) -> dict[str, Any]:
        def one() -> tuple[str, Any]:
            name = self.tokens.take()
            self.tokens.take("=")
            return name, self.attribute()

        return dict(self.bracketed("{", "}", one))

    def attribute(self) -> Any:
        kind, word = self.tokens.kind(), self.tokens.take()
        if kind == "string":
            return _unquoted(word)
        if kind == "number":
            return int(word) if re.fullmatch(r"-?\d+", word) else float(word)
        if word == "(":
            self.tokens.place -= 1
            return tuple(self.bracketed("(", ")", self.attribute))
        if kind == "layout":
            self.tokens.place -= 1
            return self.layout()
        if word == "!":
            return self.type()
        if word == "@":
            return self.functions[self.tokens.take()]
        if word == "region":
            return self.combine()
        if word == "host":
            return Host(_unquoted(self.tokens.take()))
        named = {
            "none": None,
            "true": True,
            "false": False,
            "nan": float("nan"),
            "inf": float("inf"),
        }
        if word not in named:
            raise ParseError(f"line {self.tokens.line}: {word!r} is no attribute")
        return named[word]

    def combine(self) -> Combine:
        inputs = self.bracketed("(", ")", self.type)
        steps: list[Step] = []
        self.tokens.take("[")
        while not self.tokens.accept("]"):
            op: Op = OPS[self.tokens.take()]
            operands = self.bracketed("(", ")", lambda: int(self.tokens.take()))
            attributes = self.attributes()
            self.tokens.take(":")
            types = self.listed(self.type)
            self.tokens.take(";")
            steps.append(Step(op, tuple(operands), attributes, tuple(types)))
        self.tokens.take("->")
        outputs = self.bracketed("(", ")", lambda: int(self.tokens.take()))
        bundled = self.tokens.accept("bundled")
        return Combine(tuple(inputs), tuple(steps), tuple(outputs), bundled)

    def location(self) -> Location | None:
        if not self.tokens.accept("@"):
            return None
        spans = [self.span()]
        while self.tokens.accept("<"):
            spans.append(self.span())
        return Location(spans[0], tuple(spans[1:]))

    def span(self) -> Span:
        take = self.tokens.take
        file = _unquoted(take())
        take(":")
        line = int(take())
        take(":")
        column, end_line = int(take()), 0
        if self.tokens.accept("-"):
            end_line = int(take())
        else:  # the minus sign was read as part of the number
            end_line = -int(take())
        take(":")
        end_column = int(take())
        return Span(file, line, column, end_line, end_column, _unquoted(take()))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text[1:-1])


def parse(text: str) -> Function:
    """The last function of a text; those before it are what it calls.

    Raises ParseError for a text that is not IR."""
    return _Parser(text).functions_all()[-1]

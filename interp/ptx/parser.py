"""PTX text into a `Module`.

Blocks in braces have registers and labels of their own, as inline assembly does; a name that is
declared in a block gets the block's number, so that the result is flat. Directives that only help an
assembler (`.pragma`, `.section`) are read over. `.loc` and its like end with their line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from blockstep.interp.ptx.faults import Malformed
from blockstep.interp.ptx.isa.registry import WIDTH
from blockstep.interp.ptx.lexer import Token
from blockstep.interp.ptx.statements import TYPES, Statements
from blockstep.interp.ptx.syntax import Function, Label, Location, Module, Register, Variable

_SPACES = ("shared", "global", "const", "local", "param")
_LINKAGE = (".visible", ".extern", ".weak", ".common")


def parse(text: str) -> Module:
    """The module. Raises Malformed, with the line."""
    return _Parser(text).module()


class _Parser(Statements):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.result = Module(lines=text.split("\n"))
        self.numbers: list[int] = []  # of the scopes
        self.blocks = 0
        self.function: Function | None = None

    # the module

    def module(self) -> Module:
        while self.next.kind != "end":
            self.top()
        return self.result

    def top(self) -> None:
        one = self.take()
        if one.text == ".version":
            self.result.version = "".join(t.text for t in self.rest_of_line(one.line))
        elif one.text == ".target":
            self.result.target = self.rest_of_line(one.line)[0].text
        elif one.text == ".address_size":
            self.rest_of_line(one.line)
        elif one.text == ".file":
            self.file(one)
        elif one.text == ".loc":
            self.loc(one)
        elif one.text == ".section":
            self.skip_braces()
        elif one.text == ".pragma":
            self.statement_end()
        elif one.text in _LINKAGE:
            return
        elif one.text in (".entry", ".func"):
            self.function_of(one.text == ".entry")
        elif one.text[1:] in _SPACES:
            self.result.variables += self.variables(one.text[1:])
        elif one.text != ";":
            raise Malformed(f"{one.text!r} begins nothing at the top of a module", one.line)

    def file(self, one: Token) -> None:
        number, name, *_ = self.rest_of_line(one.line)
        self.result.files[int(number.text)] = name.text[1:-1]

    def skip_braces(self) -> None:
        while not self.has("{"):
            self.take()
        depth = 1
        while depth:
            text = self.take()
            if text.kind == "end":
                self.fail("a section does not end")
            depth += (text.text == "{") - (text.text == "}")

    def statement_end(self) -> None:
        while not self.has(";"):
            if self.take().kind == "end":
                self.fail("a statement does not end")

    # functions

    def function_of(self, is_entry: bool) -> None:
        while self.next.text in (".attribute", ".noreturn"):
            self.take()
            if self.has("("):
                self.names(")")
        results = self.parameters() if self.next.text == "(" else []
        name = self.take().text
        parameters = self.parameters() if self.next.text == "(" else []
        made = Function(name, is_entry, parameters, results)
        self.directives(made)
        known = self.result.functions.get(name)
        if known is None or known.body is None:
            self.result.functions[name] = made
        if not self.has(";"):
            self.body(made)

    def parameters(self) -> list[Variable]:
        self.need("(")
        found: list[Variable] = []
        while not self.has(")"):
            space = self.take().text
            if space not in (".param", ".reg"):
                self.fail(f"expected .param and found {space!r}")
            found += self.variable(space[1:])
            self.has(",")
        return found

    def directives(self, made: Function) -> None:
        while self.next.text not in ("{", ";"):
            one = self.take()
            if one.kind == "end":
                self.fail("a function does not begin")
            numbers = []
            while self.next.kind in ("number", "string") or self.next.text == ",":
                part = self.take()
                if part.kind == "number":
                    numbers.append(int(part.text, 0))
            made.directives[one.text[1:]] = tuple(numbers)

    def body(self, made: Function) -> None:
        made.body = []
        self.function, self.location = made, None
        self.need("{")
        self.open()
        for variable in (*made.results, *made.parameters):
            if variable.space == "reg":
                self.scopes[-1][variable.name] = Register(variable.name, variable.type)
        depth = 1
        while depth:
            if self.has("{"):
                self.open()
                depth += 1
            elif self.has("}"):
                self.scopes.pop()
                self.numbers.pop()
                depth -= 1
            else:
                self.line_of_body(made)

    def open(self) -> None:
        """A block begins: what it declares is found first, because labels are used before."""
        self.blocks += 1
        names: dict[str, Register | str] = {}
        depth, at = 0, self.at
        outermost = not self.scopes
        while at < len(self.left):
            one = self.left[at]
            depth += (one.text == "{") - (one.text == "}")
            if depth < 0:
                break
            is_label = (
                not depth and one.kind == "word" and at + 1 < len(self.left)
                and self.left[at + 1].text == ":"
            )  # fmt: skip
            if is_label:
                names[one.text] = one.text if outermost else f"{one.text}#{self.blocks}"
            at += 1
        self.scopes.append(names)
        self.numbers.append(self.blocks)

    def line_of_body(self, made: Function) -> None:
        one = self.next
        if one.kind == "end":
            self.fail("a function does not end")
        if one.text == ";":
            self.take()
        elif one.text.startswith("."):
            self.directive(made)
        elif self.at + 1 < len(self.left) and self.left[self.at + 1].text == ":":
            self.label(made)
        else:
            assert made.body is not None
            made.body.append(self.statement())

    def label(self, made: Function) -> None:
        name = self.resolved(self.take().text)
        self.need(":")
        if self.next.text == ".branchtargets":
            self.take()
            made.targets[str(name)] = [str(self.resolved(t)) for t in self.names()]
        elif self.next.text == ".callprototype":
            self.statement_end()
        else:
            assert made.body is not None
            made.body.append(Label(str(name)))

    def names(self, end: str = ";") -> list[str]:
        found = []
        while not self.has(end):
            found.append(self.take().text)
            self.has(",")
        return found

    def directive(self, made: Function) -> None:
        self.unglue()
        one = self.take()
        if one.text == ".loc":
            self.loc(one)
        elif one.text == ".reg":
            self.registers()
        elif one.text == ".pragma":
            self.statement_end()
        elif one.text == ".file":
            self.file(one)
        elif one.text[1:] in _SPACES:
            made.variables += self.own(self.variables(one.text[1:]))
        else:
            raise Malformed(f"the directive {one.text!r} is not known", one.line)

    def unglue(self) -> None:
        """`.reg.b32` is two words here, as `.reg .b32` is."""
        one = self.next
        words = one.text[1:].split(".")
        if len(words) > 1:
            self.left[self.at : self.at + 1] = [Token("word", f".{w}", one.line) for w in words]

    def loc(self, one: Token) -> None:
        words = self.rest_of_line(one.line)
        numbers = [int(w.text) for w in words[:3]]
        inlined = None
        for at, word in enumerate(words):
            if word.text == "inlined_at":
                inlined = tuple([int(w.text) for w in words[at + 1 : at + 4]])
        self.location = Location(numbers[0], numbers[1], numbers[2], inlined)  # type: ignore[arg-type]

    def registers(self) -> None:
        kind = self.take().text
        vector = 1
        if kind in (".v2", ".v4"):
            vector, kind = int(kind[2:]), self.take().text
        if kind[1:] not in TYPES or vector != 1:
            self.fail(f"registers of type {kind} are not known")
        while True:
            name = self.take().text
            if self.has("<"):
                for number in range(self.number()):
                    self.declare(f"{name}{number}", kind[1:])
                self.need(">")
            else:
                self.declare(name, kind[1:])
            if not self.has(","):
                break
        self.need(";")

    def declare(self, name: str, type: str) -> None:
        outermost = len(self.scopes) == 1
        self.scopes[-1][name] = Register(name if outermost else f"{name}#{self.numbers[-1]}", type)

    def own(self, found: list[Variable]) -> list[Variable]:
        """Parameters of a call are those of its block: the next call's may have the same names."""
        if len(self.scopes) == 1:
            return found
        for at, one in enumerate(found):
            if one.space == "param":
                name = f"{one.name}#{self.numbers[-1]}"
                self.scopes[-1][one.name] = name
                found[at] = replace(one, name=name)
        return found

    # variables

    def variables(self, space: str) -> list[Variable]:
        found = self.variable(space)
        while self.has(","):
            found.append(self.declared(space, found[-1].type, found[-1].alignment, 1))
        self.need(";")
        return found

    def variable(self, space: str) -> list[Variable]:
        alignment, type, vector = 0, "", 1
        while self.next.text.startswith("."):
            one = self.take().text
            if one == ".align":
                aligned = self.number()
                alignment = max(alignment, aligned) if not type else alignment
            elif one[1:] in TYPES:
                type = one[1:]
            elif one in (".v2", ".v4"):
                vector = int(one[2:])
            elif one == ".attribute":
                self.need("(")
                self.names(")")
            elif one in (".ptr", ".global", ".shared", ".const", ".local", ".volatile"):
                continue
            else:
                self.fail(f"{one!r} is not known in a declaration")
        return [self.declared(space, type, alignment, vector)]

    def declared(self, space: str, type: str, alignment: int, vector: int) -> Variable:
        line = self.next.line
        if type not in TYPES:
            self.fail("a variable has no type")
        name = self.take().text
        count: int | None = vector
        while self.has("["):
            if self.has("]"):
                count = None
            else:
                count = (count or 1) * self.number()
                self.need("]")
        data = self.initial() if self.has("=") else ()
        if count is None and data:
            count = len(data)
        size = 1 if type == "pred" else WIDTH[type] // 8
        return Variable(name, space, type, count, max(alignment, size), data, line)

    def initial(self) -> tuple[Any, ...]:
        if not self.has("{"):
            return (self.value(),)
        found: list[Any] = []
        while not self.has("}"):
            found += self.initial() if self.next.text == "{" else [self.value()]
            self.has(",")
        return tuple(found)

    def value(self) -> Any:
        """A part of what a variable begins with; addresses are generic in any case."""
        if self.next.text != "generic":
            return self.operand()
        self.take()
        self.need("(")
        found = self.operand()
        self.need(")")
        return found

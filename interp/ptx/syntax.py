"""What PTX text says, as data: operands, statements, variables, functions, the module.

Registers carry the scope in which they were declared in their names, so that no two share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from blockstep.interp.ptx.isa.registry import Instruction


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Special:
    """A register that the hardware fills in: `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number: an int, or the bits of a float with its width."""

    value: int
    float_width: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, or a label or function."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`, with what else stands in the brackets (coordinates of a tensor map)."""

    base: Register | Symbol | Immediate
    offset: int = 0
    rest: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`."""

    operand: Any


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a result that nobody wants."""


@dataclass(frozen=True, slots=True)
class Location:
    """`.loc`: a line of the source, and the place of the call where it was inlined."""

    file: int
    line: int
    column: int
    inlined_at: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction with its guard `@p` or `@!p`."""

    instruction: Instruction
    guard: Register | None = None
    negated: bool = False
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A place that branches name."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """Memory that the text declares. `count` is None for `[]`: as long as the launch says.

    `data` holds what it begins with: numbers and symbols of the variable's type."""

    name: str
    space: str
    type: str
    count: int | None
    alignment: int
    data: tuple[Any, ...] = ()
    line: int = 0


@dataclass(slots=True)
class Function:
    """`.entry` or `.func`. `body` is None for a declaration."""

    name: str
    is_entry: bool
    parameters: list[Variable]
    results: list[Variable]
    body: list[Statement | Label] | None = None
    variables: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)  # lists of labels for brx


@dataclass(slots=True)
class Module:
    """A whole text."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def entries(self) -> list[str]:
        """The names of the kernels."""
        return [f.name for f in self.functions.values() if f.is_entry]

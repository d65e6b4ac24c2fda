"""One instruction of PTX, and the table of those that compute.

A register value is an array of unsigned integers of its width (`.pred`: bool; 8 to 64 bits: uint8
to uint64; 128 bits: two of 64), one element a thread, or whatever broadcasts to that. Functions
look at the bits as signed numbers or floats themselves, and give such arrays back. They expect
that NumPy's floating-point warnings are off (`np.errstate(all="ignore")`), and never write into
what they are given; what they give may be what they were given.

An entry of the table is called once for an instruction, decides all that its modifiers say, and
gives a `Form`: the function to run, and the types of its operands and results. Modifiers that an
entry does not know raise `Unsupported`: never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from blockstep.errors import UnsupportedError

Bits = NDArray[Any]  # of unsigned integers, or of bool
Compute = Callable[..., Any]  # of Bits: an array, or a tuple of arrays


@dataclass(frozen=True, slots=True)
class Instruction:
    """`opcode.modifiers operands;`, as it is written.

    `modifiers` are all the dotted parts after the opcode, in order; `types` are the type suffixes
    among them. An operand that is a tuple is a vector `{a, b}` or a pair `p|q`; what the others
    are is the reader's business. The destination is the first operand."""

    opcode: str
    modifiers: tuple[str, ...]
    types: tuple[str, ...]
    line: int
    operands: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The opcode with its modifiers: `add.rn.f32`."""
        return ".".join((self.opcode, *self.modifiers))


class Unsupported(UnsupportedError):
    """An instruction, or a combination of modifiers, that is not known here."""

    def __init__(self, opcode: str, modifiers: tuple[str, ...]) -> None:
        super().__init__(opcode, modifiers)
        self.opcode, self.modifiers = opcode, modifiers

    def __str__(self) -> str:
        return f"the instruction {'.'.join((self.opcode, *self.modifiers))} is not supported"


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction with its modifiers: what it computes, and on registers of which types.

    `compute(*sources)` takes the source operands in order, vectors taken apart, and gives an array,
    or a tuple of arrays where there are several destinations (`d|p`, `{a, b}`). `sources` and
    `results` are the types of these, so that a constant can be written with the right bits and a
    result can be put into a wider register (`fit`).
    `takes_carry`: the last source is the carry flag, a bool that no operand names.
    `gives_carry`: the last result is the carry flag."""

    compute: Compute
    sources: tuple[str, ...]
    results: tuple[str, ...]
    takes_carry: bool = False
    gives_carry: bool = False


Maker = Callable[[Instruction], Form]
_makers: dict[str, list[tuple[frozenset[str], frozenset[str], Maker]]] = {}
_forms: dict[tuple[Any, ...], Form] = {}

WIDTH = {
    **{f"{kind}{width}": width for kind in "bus" for width in (8, 16, 32, 64)},
    **{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32},
    **{"u16x2": 32, "s16x2": 32, "f32x2": 64, "b128": 128},
    **{"e4m3x2": 16, "e5m2x2": 16, "e2m1x2": 8, "e2m3x2": 16, "e3m2x2": 16, "ue8m0x2": 16},
}  # fmt: skip

_UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}
_SIGNED: dict[int, type[np.signedinteger[Any]]] = {
    8: np.int8,
    16: np.int16,
    32: np.int32,
    64: np.int64,
}


def instruction(
    *opcodes: str, types: frozenset[str] = frozenset(), modes: frozenset[str] = frozenset()
) -> Callable[[Maker], Maker]:
    """Enter the function that makes the forms of these opcodes; where `types` are given, of the
    instructions whose last type is one of them; where `modes` are given, of those that have one of
    these modifiers, and no other function makes them."""

    def enter(maker: Maker) -> Maker:
        for opcode in opcodes:
            entries = _makers.setdefault(opcode, [])
            entries.insert(0 if modes else len(entries), (types, modes, maker))
        return maker

    return enter


def form(i: Instruction) -> Form:
    """What `i` computes. Raises Unsupported for what is not known here."""
    arity = tuple(len(o) if isinstance(o, tuple) else 0 for o in i.operands)
    key = (i.opcode, i.modifiers, arity)
    known = _forms.get(key)
    if known is None:
        known = _forms[key] = _maker(i)(i)
    return known


def lookup(i: Instruction) -> Compute:
    """The function that computes `i`: `form(i).compute`."""
    return form(i).compute


def _maker(i: Instruction) -> Maker:
    for types, modes, maker in _makers.get(i.opcode, ()):
        if modes and modes.isdisjoint(i.modifiers):
            continue
        if not types or i.types and i.types[-1] in types:
            return maker
    raise Unsupported(i.opcode, i.modifiers)


def opcodes() -> list[str]:
    """Those that are entered."""
    return sorted(_makers)


class Reader:
    """Takes the modifiers of an instruction one after the other; `end` wants none to be left."""

    def __init__(self, i: Instruction) -> None:
        self.instruction = i
        self.left = list(i.modifiers)

    def flag(self, name: str) -> bool:
        """Whether this modifier is there."""
        found = name in self.left
        if found:
            self.left.remove(name)
        return found

    def one(self, *names: str) -> str:
        """The first of these modifiers that is there; "" if none is."""
        return next((name for name in names if self.flag(name)), "")

    def needs(self, *names: str) -> str:
        """The one of these modifiers that has to be there."""
        return self.one(*names) or self.fail()

    def type(self, *allowed: str) -> str:
        """The next modifier, which has to be one of these types."""
        if not self.left or self.left[0] not in allowed:
            self.fail()
        return self.left.pop(0)

    def only(self, condition: bool) -> None:
        """Raise Unsupported unless the modifiers go together."""
        if not condition:
            self.fail()

    def end(self) -> None:
        """Raise Unsupported if a modifier was not taken."""
        self.only(not self.left)

    def fail(self) -> NoReturn:
        raise Unsupported(self.instruction.opcode, self.instruction.modifiers)


def unsigned(type: str) -> type[np.unsignedinteger[Any]] | type[np.bool_]:
    """The dtype in which a register of this type is kept: `f16x2` → uint32, `pred` → bool."""
    return np.bool_ if type == "pred" else _UNSIGNED[WIDTH[type]]


def signed(type: str) -> type[np.signedinteger[Any]]:
    """The signed dtype of the same width."""
    return _SIGNED[WIDTH[type]]


def fit(bits: Bits, type: str, width: int) -> Bits:
    """A value of this type in a register of `width` bits: cut, or extended as the type says
    (PTX, "Operand Size Exceeding Instruction-Type Size": signed types by the sign, others by 0).

    `fit(uint8[0x80], "s8", 16)` is `uint16[0xff80]`."""
    if type[0] == "s" and width > WIDTH[type]:
        bits = bits.view(signed(type)).astype(_SIGNED[width])
        return bits.view(_UNSIGNED[width])
    return bits.astype(_UNSIGNED[width], copy=False)

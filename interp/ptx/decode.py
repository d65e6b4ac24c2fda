"""A kernel's blocks as closures: everything that the text decides is decided once, here.

A step is `run(frame)`. Registers, constants, hardware registers and the addresses of variables all
have slots in `frame.regs`, so that a source operand is an index and nothing else. Computing
instructions come from `isa.registry`; those that touch memory, other threads or the machine are
makers entered by `effect`: `maker(instruction, decoder)` gives `run(frame, mask)`, `mask` being the
threads whose guard holds (None: all).
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from blockstep.interp.ptx import flow, survey
from blockstep.interp.ptx.faults import NotSupported, Place
from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Form,
    Instruction,
    Unsupported,
    fit,
    form,
    unsigned,
)
from blockstep.interp.ptx.layout import Layout
from blockstep.interp.ptx.liveness import Live
from blockstep.interp.ptx.parameters import COPY
from blockstep.interp.ptx.parser import parse
from blockstep.interp.ptx.specials import MOVING, width_of
from blockstep.interp.ptx.steps import Effect, Step, computing, guarded
from blockstep.interp.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Module,
    Negated,
    Register,
    Sink,
    Special,
    Statement,
    Symbol,
)

Put = Callable[[Frame, Bits, Mask], None]
Maker = Callable[[Instruction, "Decoder"], Effect]
TRASH = 0  # the slot of results that nobody wants
_effects: dict[str, Maker] = {}


def effect(*opcodes: str) -> Callable[[Maker], Maker]:
    """Enter the maker of instructions that do more than compute."""

    def enter(maker: Maker) -> Maker:
        for opcode in opcodes:
            if _effects.setdefault(opcode, maker) is not maker:
                raise ValueError(f"{opcode} is entered twice")
        return maker

    return enter


@dataclass(frozen=True, slots=True)
class End:
    """How a block ends. `kind` is fall, jump, branch, indexed, exit or barrier."""

    kind: str
    place: Place
    guard: int | None = None
    negated: bool = False
    targets: tuple[int, ...] = ()
    next: int = 0
    instruction: Instruction | None = None
    operands: tuple[int | None, ...] = ()  # slots: of a barrier's number, count, predicate
    result: int = TRASH


@dataclass(slots=True)
class Code:
    """A block, ready to run. `needs` are the slots that it reads, `gives` those it leaves to others."""

    number: int
    steps: list[tuple[Step, tuple[int, ...]]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    end: End = End("fall", Place(0))
    needs: tuple[int, ...] = ()
    gives: tuple[int, ...] = ()


@dataclass(slots=True)
class Program:
    """A kernel, decoded. Slots hold constants, hardware registers (`specials`, by name), addresses
    of variables in global memory (`symbols`) and registers."""

    module: Module
    entry: Function
    layout: Layout
    codes: list[Code] = field(default_factory=list)
    slots: int = 1
    constants: dict[int, Bits] = field(default_factory=dict)
    specials: dict[int, str] = field(default_factory=dict)
    symbols: dict[int, Symbol] = field(default_factory=dict)
    unwritten: dict[int, Bits] = field(default_factory=dict)  # registers that may be read too early
    granule: int = 16  # bytes: the least width of an access of shared memory
    polls: bool = False  # it may wait for other CTAs
    tables: bool = False  # it may take addresses from memory
    partial_barriers: bool = False  # it orders threads by other means than whole-CTA barriers


@functools.lru_cache(maxsize=64)
def decoded(text: str, entry: str) -> Program:
    """The kernel `entry` of a text. Raises Malformed and NotSupported, with the line."""
    import blockstep.interp.ptx.isa.effects  # noqa: F401  (the makers enter themselves)

    module = parse(text)
    return Decoder(module, entry).program()


class Decoder:
    """Decodes one kernel; makers ask it for operands."""

    def __init__(self, module: Module, entry: str) -> None:
        self.flow = flow.blocks_of(module, entry)
        function = module.functions[entry]
        self.made = Program(module, function, Layout.of(module, function, self.flow.variables))
        self.place = Place(0)
        self._slots: dict[Any, int] = {}
        self._before: list[Step] = []  # steps that the running statement needs first
        self._temporary: list[int] = []
        self._touched: set[int] = set()
        self._guard: tuple[int | None, bool] = None, False  # of the running statement

    def program(self) -> Program:
        """The whole kernel."""
        made = self.made
        live = Live(self.flow.blocks, self.register)
        for slot, register in live.early():
            made.unwritten[slot] = np.zeros((1, 1), unsigned(register.type))
        made.codes = [self._code(block, live) for block in self.flow.blocks]
        statements = [s for b in self.flow.blocks for s in flow.all_of(b)]
        made.tables = survey.follows_tables(statements)
        made.granule = survey.granule(statements)
        made.polls = survey.polls(statements)
        made.partial_barriers = survey.partial_barriers(statements)
        made.slots = len(self._slots) + 1
        return made

    def _code(self, block: flow.Block, live: Live) -> Code:
        code = Code(block.number)
        self._touched = set()
        dead_after = live.deaths(block)
        for statement, dead in zip(block.body, dead_after, strict=True):
            self.place = self._place(statement)
            self._before, self._temporary = [], []
            step = self._step(statement)
            for one in (*self._before, step):
                code.steps.append((one, ()))
                code.places.append(self.place)
            code.steps[-1] = (step, tuple({*dead, *self._temporary} - {TRASH}))
        self._before, self._temporary = [], []
        code.end = self._end(block)
        for one in self._before:
            code.steps.append((one, ()))
            code.places.append(self.place)
        fixed = {s for s in self._touched if self._is_fixed(s)}
        code.needs = tuple(fixed | live.into(block))
        code.gives = tuple(live.given(block))
        return code

    def _is_fixed(self, slot: int) -> bool:
        made = self.made
        return slot in made.constants or slot in made.specials or slot in made.symbols

    def _place(self, statement: Statement) -> Place:
        module, line = self.made.module, statement.instruction.line
        text = module.lines[line - 1].strip() if 0 < line <= len(module.lines) else ""
        at = statement.location
        if at is None:
            return Place(line, text)
        return Place(line, text, module.files.get(at.file, ""), at.line, at.column)

    # operands

    def _slot(self, key: Any) -> int:
        found = self._slots.get(key)
        if found is None:
            found = self._slots[key] = len(self._slots) + 1
        self._touched.add(found)
        return found

    def register(self, register: Register) -> int:
        """The slot of a register."""
        return self._slot(register)

    def constant(self, value: int, type: str) -> int:
        """The slot of a constant, as a register of that type."""
        kind = unsigned(type)
        bits = kind(bool(value)) if kind is np.bool_ else kind(value & ((1 << WIDTH[type]) - 1))
        slot = self._slot(("constant", int(bits), np.dtype(kind)))
        self.made.constants[slot] = np.full((1, 1), bits)
        return slot

    def temporary(self) -> int:
        """A slot that is free again after the statement."""
        slot = self._slot(("temporary", len(self._slots)))
        self._temporary.append(slot)
        return slot

    def source(self, operand: Any, type: str) -> int:
        """The slot that has a source operand as a value of `type`."""
        if isinstance(operand, Register):
            slot = self.register(operand)
            if slot in self.made.unwritten:
                slot = self._watched(slot)
            return self._narrowed(slot, operand.type, type)
        if isinstance(operand, Immediate):
            return self.constant(_bits(operand, type), type)
        if isinstance(operand, Special):
            return self._narrowed(
                self._special(operand.name), width_of(operand.name, self.fail), type
            )
        if isinstance(operand, Symbol):
            return self._symbol(operand, type)
        if isinstance(operand, Negated):
            return self._converted(self.source(operand.operand, "pred"), np.logical_not)
        return self.fail(f"the operand {operand}")

    def _narrowed(self, slot: int, have: str, want: str) -> int:
        kind = unsigned(want)
        if unsigned(have) is kind:
            return slot
        return self._converted(slot, lambda x: x.astype(kind))

    def _converted(self, slot: int, convert: Callable[[Bits], Bits]) -> int:
        made = self.temporary()

        def run(frame: Frame) -> None:
            frame.regs[made] = convert(frame.regs[slot])

        self._before.append(run)
        return made

    def _watched(self, slot: int) -> int:
        """A register that may not have been written yet: told where it is read."""
        empty, place, made = self.made.unwritten[slot], self.place, self.temporary()
        guard, negated = self._guard

        def run(frame: Frame) -> None:
            value = frame.regs[slot]
            if value is None or value is empty:
                reading = np.ones((1, 1), bool) if guard is None else frame.regs[guard] != negated
                if reading.any():
                    frame.batch.report(frame, "uninitialised", "register", reading, None, place)
                value = empty
            frame.regs[made] = value

        self._before.append(run)
        return made

    def _special(self, name: str) -> int:
        if name in MOVING:
            slot = self.temporary()

            def run(frame: Frame) -> None:
                frame.regs[slot] = frame.batch.clock(name)

            self._before.append(run)
            return slot
        slot = self._slot(("special", name))
        self.made.specials[slot] = name
        return slot

    def _symbol(self, symbol: Symbol, type: str) -> int:
        address = self.made.layout.address(symbol)
        if address is not None:
            return self.constant(address, type)
        if symbol.name not in self.made.layout.globals:
            self.fail(f"the address of {symbol.name}")
        slot = self._slot(("symbol", symbol))
        self.made.symbols[slot] = symbol
        return slot

    def address(self, operand: Any) -> Callable[[Frame], Bits]:
        """What gives the addresses of `[base+offset]`."""
        if not isinstance(operand, Address):
            return self.fail("an operand that is no address")
        base, offset = operand.base, operand.offset
        if isinstance(base, Symbol):
            slot = self._symbol(Symbol(base.name, base.offset + offset), "b64")
            return lambda frame: frame.regs[slot]
        type = base.type if isinstance(base, Register) else "b64"
        slot = self.source(base, type)
        if not offset:
            return lambda frame: frame.regs[slot]
        step = unsigned(type)(offset & ((1 << WIDTH[type]) - 1))
        return lambda frame: frame.regs[slot] + step

    def result(self, operand: Any, type: str) -> Put:
        """What writes a value of `type` to a destination: for all threads, or for those in a
        mask, one value each."""
        if isinstance(operand, Sink):
            return lambda frame, value, mask: None
        if not isinstance(operand, Register):
            return self.fail(f"the destination {operand}")
        slot = self.register(operand)
        width = 0 if operand.type == "pred" else WIDTH[operand.type]
        if operand.type == type or width == WIDTH.get(type):

            def put(frame: Frame, value: Bits, mask: Mask) -> None:
                if mask is None:
                    frame.regs[slot] = value
                else:
                    frame.put_active(slot, value, mask)

            return put

        def put_fitted(frame: Frame, value: Bits, mask: Mask) -> None:
            if mask is None:
                frame.regs[slot] = fit(value, type, width)
            else:
                frame.put_active(slot, fit(value, type, width), mask)

        return put_fitted

    def fail(self, what: str) -> NoReturn:
        """Raise NotSupported at the running statement."""
        raise NotSupported(what, self.place)

    # steps

    def _step(self, statement: Statement) -> Step:
        i = statement.instruction
        maker = _effects.get(i.opcode)
        guard = None if statement.guard is None else self.register(statement.guard)
        self._guard = guard, statement.negated
        if maker is not None:
            return guarded(maker(i, self), guard, statement.negated)
        if i.opcode == COPY:
            return self._copy(i, guard, statement.negated)
        try:
            found = form(i)
        except Unsupported:
            return self.fail(i.name)
        return self._compute(i, found, guard, statement.negated)

    def _copy(self, i: Instruction, guard: int | None, negated: bool) -> Step:
        slot = self.source(i.operands[1], i.types[0])
        put = self.result(i.operands[0], i.types[0])

        def run(frame: Frame, mask: Mask) -> None:
            value = frame.regs[slot]
            put(frame, value if mask is None else frame.active(value, mask), mask)

        return guarded(run, guard, negated)

    def _compute(self, i: Instruction, form: Form, guard: int | None, negated: bool) -> Step:
        given = [*flow_parts(i.operands[1:])]
        types = form.sources[: len(form.sources) - form.takes_carry]
        if len(given) != len(types):
            self.fail(f"{i.name} with {len(given)} sources")
        sources = [self.source(o, t) for o, t in zip(given, types, strict=True)]
        if form.takes_carry:
            sources.append(self.source(flow.CARRY, "pred"))
        ends = [*flow_parts(i.operands[:1])]
        if form.gives_carry:
            ends.append(flow.CARRY)
        if len(ends) != len(form.results):
            self.fail(f"{i.name} with {len(ends)} results")
        slots, fits = [], []
        for end, type in zip(ends, form.results, strict=True):
            slots.append(TRASH if isinstance(end, Sink) else self.register(end))
            fits.append(_fitting(end, type))
        return computing(form.compute, tuple(sources), tuple(slots), fits, guard, negated)

    # ends of blocks

    def _end(self, block: flow.Block) -> End:
        statement, next = block.end, block.next
        if statement is None:
            return End("fall", self.place, next=-1 if next is None else next)
        self.place = self._place(statement)
        self._guard = None, False
        i, guard = statement.instruction, statement.guard
        kind = {"bra": "branch", "brx": "indexed", "ret": "exit", "exit": "exit"}.get(
            i.opcode, "barrier"
        )
        if kind == "branch" and guard is None:
            kind = "jump"
        operands: tuple[int | None, ...] = ()
        result = TRASH
        if kind == "indexed":
            operands = (self.source(i.operands[0], "u32"),)
        elif kind == "barrier":
            operands, result = self._barrier(i)
        slot = None if guard is None else self.register(guard)
        return End(
            kind, self.place, slot, statement.negated, block.targets,
            -1 if next is None else next, i, operands, result,
        )  # fmt: skip

    def _barrier(self, i: Instruction) -> tuple[tuple[int | None, ...], int]:
        """Slots of the number, the count and the predicate of a barrier, and of its result."""
        if "cluster" in i.modifiers or "warp" in i.modifiers:
            found = [self.source(o, "u32") for o in i.operands]
            return (found[0] if found else None, None, None), TRASH
        given, result, predicate = list(i.operands), TRASH, None
        if "red" in i.modifiers:
            result = self.register(given.pop(0))
            predicate = self.source(given.pop(), "pred")
        number = self.source(given[0], "u32") if given else None
        count = self.source(given[1], "u32") if len(given) > 1 else None
        return (number, count, predicate), result


def flow_parts(operands: Iterable[Any]) -> Iterable[Any]:
    """Operands in order, vectors taken apart."""
    for one in operands:
        if isinstance(one, tuple):
            yield from flow_parts(one)
        else:
            yield one


def _bits(operand: Immediate, type: str) -> int:
    if not operand.float_width or (operand.float_width == 32 and type not in ("f64", "b64")):
        return operand.value
    if operand.float_width == 64 and WIDTH[type] == 32:
        number = struct.unpack("<d", struct.pack("<Q", operand.value))[0]
        return int(np.float32(number).view(np.uint32))
    if operand.float_width == 32:
        number = struct.unpack("<f", struct.pack("<I", operand.value))[0]
        return int(np.float64(number).view(np.uint64))
    return operand.value


def _fitting(end: Any, type: str) -> Callable[[Bits], Bits] | None:
    if isinstance(end, Sink) or end.type == type or type == "pred":
        return None
    width = WIDTH[end.type]
    return None if width == WIDTH[type] else lambda x: fit(x, type, width)


__all__ = ["Code", "Decoder", "Effect", "End", "Program", "Put", "decoded", "effect"]

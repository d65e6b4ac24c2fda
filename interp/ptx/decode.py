"""A kernel's blocks as closures: everything that the text decides is decided once, here.

A step is `run(frame)`. Registers, constants, hardware registers and the addresses of variables all
have slots in `frame.regs`, so that a source operand is an index and nothing else. Computing
instructions come from `isa.registry`; those that touch memory, other threads or the machine are
makers entered by `effect`: `maker(instruction, decoder)` gives `run(frame, mask)`, `mask` being the
threads whose guard holds (None: all).
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from blockstep.interp.ptx import flow, survey
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Frame
from blockstep.interp.ptx.isa.arith import kept
from blockstep.interp.ptx.isa.moves import read_by_prmt
from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Form,
    Instruction,
    Unsupported,
    fit,
    form,
    unsigned,
)
from blockstep.interp.ptx.judging.accumulators import too_early
from blockstep.interp.ptx.judging.provenance import origins
from blockstep.interp.ptx.layout import Layout
from blockstep.interp.ptx.liveness import Live
from blockstep.interp.ptx.operands import Operands, Put
from blockstep.interp.ptx.parameters import COPY
from blockstep.interp.ptx.parser import parse
from blockstep.interp.ptx.program import TRASH, Code, End, Program
from blockstep.interp.ptx.steps import Effect, Plain, Step, guarded
from blockstep.interp.ptx.syntax import Module, Sink, Statement

Maker = Callable[[Instruction, "Decoder"], Effect]
_effects: dict[str, Maker] = {}


def effect(*opcodes: str) -> Callable[[Maker], Maker]:
    """Enter the maker of instructions that do more than compute."""

    def enter(maker: Maker) -> Maker:
        for opcode in opcodes:
            if _effects.setdefault(opcode, maker) is not maker:
                raise ValueError(f"{opcode} is entered twice")
        return maker

    return enter


@functools.lru_cache(maxsize=64)
def decoded(text: str, entry: str) -> Program:
    """The kernel `entry` of a text. Raises Malformed and NotSupported, with the line."""
    import blockstep.interp.ptx.isa.effects  # noqa: F401  (the makers enter themselves)

    with _uncollected():
        module = parse(text)
        return Decoder(module, entry).program()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Garbage is not looked for inside: a kernel is tens of thousands of objects that stay, and
    looking through them again and again takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@functools.lru_cache(maxsize=64)
def decoded_for_host(text: str, entry: str) -> Program:
    """The same, with stretches of plain instructions as host code."""
    from blockstep.interp.ptx.host.stretches import with_host_code  # LLVM, which few need

    return with_host_code(decoded(text, entry))


class Decoder(Operands):
    """Decodes one kernel; makers ask it for operands."""

    def __init__(self, module: Module, entry: str) -> None:
        self.flow = flow.blocks_of(module, entry)
        function = module.functions[entry]
        super().__init__(
            Program(module, function, Layout.of(module, function, self.flow.variables))
        )
        self.hands_on = False  # the running statement's accumulators go to a product in its block

    def program(self) -> Program:
        """The whole kernel."""
        made = self.made
        live = Live(self.flow.blocks, self.register)
        for slot, register in live.early():
            made.unwritten[slot] = np.zeros((1, 1), unsigned(register.type))
        self._early = too_early(self.flow.blocks)
        made.codes = [self._code(block, live) for block in self.flow.blocks]
        statements = [s for b in self.flow.blocks for s in flow.all_of(b)]
        made.tables = survey.follows_tables(statements)
        made.granule = survey.granule(statements)
        made.polls = survey.polls(statements)
        made.partial_barriers = survey.partial_barriers(statements)
        made.by_order = survey.by_order(statements)
        made.bulk_writes = survey.bulk_writes(statements)
        made.products = survey.products(statements)
        made.origins = origins(statements, made.layout)
        made.slots = len(self._slots) + 1
        return made

    def _code(self, block: flow.Block, live: Live) -> Code:
        code = Code(block.number, count=len(flow.all_of(block)))
        self._touched = set()
        dead_after = live.deaths(block)
        handing_on = live.hand_on(block)
        for k, (statement, dead) in enumerate(zip(block.body, dead_after, strict=True)):
            self.hands_on = k in handing_on
            self.place = self._place(statement)
            self._before, self._temporary = [], []
            step = self._step(statement)
            if statement.instruction.line in self._early:
                self._before.append(_told_early(self._guard, self.place))
            for one in self._before:
                code.add(one, (), self.place)
            code.add(step, tuple({*dead, *self._temporary} - {TRASH}), self.place)
        self._before, self._temporary = [], []
        code.end = self._end(block)
        for one in self._before:
            code.add(one, (), self.place)
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

    # steps

    def _step(self, statement: Statement) -> Step | Plain:
        i = statement.instruction
        maker = _effects.get(i.opcode)
        guard = None if statement.guard is None else self.register(statement.guard)
        self._guard = guard, statement.negated
        if maker is not None:
            return guarded(maker(i, self), guard, statement.negated)
        if i.opcode == COPY:
            type = i.types[0]
            return self._compute(i, Form(kept, (type,), (type,)))
        try:
            found = form(i)
        except Unsupported:
            return self.fail(i.name)
        return self._compute(i, found)

    def _compute(self, i: Instruction, form: Form) -> Plain:
        given = read_by_prmt(i) if i.opcode == "prmt" else [*flow_parts(i.operands[1:])]
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
        return Plain(form.compute, tuple(sources), tuple(slots), tuple(fits), *self._guard)

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


def _told_early(guard: tuple[int | None, bool], place: Place) -> Step:
    """What tells that threads use a register that a wgmma may still write."""
    slot, negated = guard

    def run(frame: Frame) -> None:
        using = np.ones((1, 1), bool) if slot is None else frame.regs[slot] != negated
        if using.any():
            what = "use of a register that a wgmma still writes"
            frame.batch.report(frame, "async", what, using, None, place)

    return run


def flow_parts(operands: Iterable[Any]) -> Iterable[Any]:
    """Operands in order, vectors taken apart."""
    for one in operands:
        if isinstance(one, tuple):
            yield from flow_parts(one)
        else:
            yield one


def _fitting(end: Any, type: str) -> Callable[[Bits], Bits] | None:
    if isinstance(end, Sink) or end.type == type or type == "pred":
        return None
    width = WIDTH[end.type]
    return None if width == WIDTH[type] else lambda x: fit(x, type, width)


__all__ = ["Code", "Decoder", "Effect", "End", "Program", "Put", "decoded", "effect"]

"""The operands of a kernel's statements as slots, and what must run before a statement to have them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from blockstep.interp.ptx.faults import NotSupported, Place
from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.registry import WIDTH, fit, unsigned
from blockstep.interp.ptx.program import Program
from blockstep.interp.ptx.specials import MOVING, width_of
from blockstep.interp.ptx.steps import Plain, Step
from blockstep.interp.ptx.syntax import (
    Address,
    Immediate,
    Negated,
    Register,
    Sink,
    Special,
    Symbol,
)

Put = Callable[[Frame, Bits, Mask], None]


class Operands:
    """Slots by what they hold. `place` is that of the running statement."""

    def __init__(self, made: Program) -> None:
        self.made = made
        self.place = Place(0)
        self._slots: dict[Any, int] = {}
        self._before: list[Step | Plain] = []  # steps that the running statement needs first
        self._temporary: list[int] = []
        self._touched: set[int] = set()
        self._guard: tuple[int | None, bool] = None, False  # of the running statement

    def _slot(self, key: Any, type: str | type[np.generic]) -> int:
        found = self._slots.get(key)
        if found is None:
            found = self._slots[key] = len(self._slots) + 1
            kind = unsigned(type) if isinstance(type, str) else type
            self.made.kinds[found] = np.dtype(kind)
        self._touched.add(found)
        return found

    def register(self, register: Register) -> int:
        """The slot of a register."""
        return self._slot(register, register.type)

    def constant(self, value: int, type: str) -> int:
        """The slot of a constant, as a register of that type."""
        kind = unsigned(type)
        bits = kind(bool(value)) if kind is np.bool_ else kind(value & ((1 << WIDTH[type]) - 1))
        slot = self._slot(("constant", int(bits), np.dtype(kind)), kind)
        self.made.constants[slot] = np.full((1, 1), bits)
        return slot

    def temporary(self, type: str | type[np.generic]) -> int:
        """A slot that is free again after the statement."""
        slot = self._slot(("temporary", len(self._slots)), type)
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
            return self._converted(self.source(operand.operand, "pred"), np.logical_not, np.bool_)
        return self.fail(f"the operand {operand}")

    def _narrowed(self, slot: int, have: str, want: str) -> int:
        kind = unsigned(want)
        if unsigned(have) is kind:
            return slot
        return self._converted(slot, lambda x: x.astype(kind), kind)

    def _converted(self, slot: int, convert: Callable[[Bits], Bits], kind: type[np.generic]) -> int:
        made = self.temporary(kind)
        self._before.append(Plain(convert, (slot,), (made,)))
        return made

    def _watched(self, slot: int) -> int:
        """A register that may not have been written yet: told where it is read."""
        empty, place = self.made.unwritten[slot], self.place
        made = self.temporary(empty.dtype.type)
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
            slot = self.temporary(width_of(name, self.fail))

            def run(frame: Frame) -> None:
                frame.regs[slot] = frame.batch.clock(name)

            self._before.append(run)
            return slot
        slot = self._slot(("special", name), width_of(name, self.fail))
        self.made.specials[slot] = name
        return slot

    def _symbol(self, symbol: Symbol, type: str) -> int:
        address = self.made.layout.address(symbol)
        if address is not None:
            return self.constant(address, type)
        if symbol.name not in self.made.layout.globals:
            self.fail(f"the address of {symbol.name}")
        slot = self._slot(("symbol", symbol), np.uint64)
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

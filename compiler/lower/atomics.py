"""Atomics of global memory.

Each element is acted on once, by its leader; the old value reaches all of its holders. Who acts is
one lane of many, so the order that an atomic promises is made for the whole CTA: a barrier before a
release (what the other lanes stored comes before it) and one after an acquire. Several releases in a
row need one fence before them, several acquires one after them (PTX ISA, release and acquire
patterns).

After an acquire whose old value nobody looks at no lane waits: no later step can tell what it read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockstep.compiler.lower.agree import agree, copies_are_equal, copy_bits, scratch_bytes
from blockstep.compiler.lower.atomic_text import Instruction, rmw
from blockstep.compiler.lower.core import Lowering, Unlowered, lowers
from blockstep.compiler.lower.memory import both, from_words, groups, memory_bits, to_words
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation, Value
from blockstep.language import types as ty

_SEM = {
    (False, False): "relaxed", (True, False): "release",
    (False, True): "acquire", (True, True): "acq_rel",
}  # fmt: skip

Act = Callable[[list[int], str, str], list[str]]
"""The instructions for some registers, where a predicate holds, with a `.sem.scope`: old words."""


@dataclass(slots=True)
class _Atomic:
    """One atomic operation: who acts, in which order with what, and who wants to know."""

    lw: Lowering
    operation: Operation
    layout: Layout | None
    kind: ty.dtype
    mask: Value | None
    sem: str

    @property
    def wanted(self) -> bool:
        """Whether anybody uses the old values."""
        return any(result.uses for result in self.operation.results)

    def run(self, act: Act, width: int) -> Item | None:
        """Acts on every element; the old values, if they are wanted."""
        lw, scope = self.lw, self.operation.attributes["scope"]
        if not copies_are_equal(self.layout):
            raise Unlowered(f"an atomic on a block held as {self.layout}")
        release = self.sem in ("release", "acq_rel")
        acquires = self.sem in ("acquire", "acq_rel")
        acquire = acquires and self.wanted
        pieces = self._pieces(width)
        fenced = len(pieces) > 1
        size = scratch_bytes(lw, self.kind, self.layout) if self.wanted else 0
        place = lw.scratch(size) if size else ""
        if release and not size:
            lw.barrier()
        if release and fenced:
            _fence(lw, scope)
        sem = _SEM[release and not fenced, acquires and not fenced]
        predicates = self._predicates()
        found = {
            tuple(registers): act(registers, predicates[registers[0]], f".{sem}.{scope}")
            for registers in pieces
        }
        if acquire and fenced:
            _fence(lw, scope)
        old = self._old(found, place) if self.wanted else None
        if acquire and not size:
            lw.barrier()
        return old

    def _pieces(self, width: int) -> list[list[int]]:
        count = None if self.layout is None else self.layout.per_lane
        idle = copy_bits(self.layout)
        return [registers for registers in groups(count, width) if not registers[0] & idle]

    def _predicates(self) -> list[str]:
        leader = self.lw.leaders(self.layout)
        if self.mask is None:
            return [leader] * (1 if self.layout is None else self.layout.per_lane)
        parts = self.lw.parts(self.lw[self.mask])
        known: dict[str, str] = {}
        for part in parts:
            if part not in known:
                known[part] = both(self.lw, leader, part)
        return [known[part] for part in parts]

    def _old(self, found: dict[tuple[int, ...], list[str]], place: str) -> Item:
        lw, kind = self.lw, self.kind
        if self.layout is None:
            (words,) = found.values()
            return agree(lw, from_words(lw, words, 1, kind, None), None, place)
        parts: dict[int, str] = {}
        for registers, words in found.items():
            item = from_words(lw, words, len(registers), kind, len(registers))
            parts.update(zip(registers, lw.parts(item), strict=True))
        idle, count = copy_bits(self.layout), self.layout.per_lane
        held = lw.join([parts[r & ~idle] for r in range(count)], kind, count)
        return agree(lw, held, self.layout, place)


def _fence(lw: Lowering, scope: str) -> None:
    lw.b.asm("void", f"fence.acq_rel.{scope};", "~{memory}", [])


def _start(
    lw: Lowering, operation: Operation, pointer: Value | None, mask: Value | None, one: str = ""
) -> tuple[_Atomic, list[str]]:
    """The atomic, and the address that each register holds. `one` is the only order besides
    "relaxed" that it can have."""
    assert pointer is not None
    sem = operation.attributes["sem"]
    if one and sem != "relaxed":
        sem = one
    layout = pointer.layout
    assert layout is None or isinstance(layout, Layout)
    kind = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    return _Atomic(lw, operation, layout, kind, mask, sem), lw.parts(lw[pointer])


def _finish(lw: Lowering, operation: Operation, old: Item | None) -> None:
    """Values that nobody uses are undefined."""
    for result in operation.results:
        zero = Item("zeroinitializer", result.type.scalar, lw.count(result))
        if zero.count is None:
            zero = Item("false" if zero.kind.is_int1() else _zero(zero), zero.kind)
        lw.bind(result, zero if old is None else old)


def _zero(item: Item) -> str:
    return "zeroinitializer" if item.kind.is_floating() and not item.kind.is_fp8() else "0"


@lowers("atomic_rmw")
def _atomic_rmw(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "pointer", "value", "mask")
    atomic, addresses = _start(lw, operation, told["pointer"], told["mask"])
    value = told["value"]
    assert value is not None
    combine = operation.attributes["combine"]
    bits = memory_bits(atomic.kind)

    def act(registers: list[int], predicate: str, order: str) -> list[str]:
        words = to_words(lw, lw[value], registers, bits)
        made = rmw(lw, combine, atomic.kind, order, len(registers), atomic.wanted)
        return made.emit(lw, addresses[registers[0]], words, predicate)

    _finish(lw, operation, atomic.run(act, operation.attributes.get("vector", 1)))


@lowers("atomic_cas")
def _atomic_cas(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "pointer", "expected", "value")
    atomic, addresses = _start(lw, operation, told["pointer"], None)
    expected, value = told["expected"], told["value"]
    assert expected is not None and value is not None
    bits = memory_bits(atomic.kind)

    def act(registers: list[int], predicate: str, order: str) -> list[str]:
        words = to_words(lw, lw[expected], registers, bits) + to_words(
            lw, lw[value], registers, bits
        )
        made = Instruction(f"atom.global{order}.cas.b{bits} $0, [$1], $2, $3;", 1)
        return made.emit(lw, addresses[registers[0]], words, predicate)

    _finish(lw, operation, atomic.run(act, 1))


@lowers("atomic_load")
def _atomic_load(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "pointer", "mask")
    atomic, addresses = _start(lw, operation, told["pointer"], told["mask"], "acquire")
    bits = memory_bits(atomic.kind)

    def act(registers: list[int], predicate: str, order: str) -> list[str]:
        made = Instruction(f"ld{order}.global.b{bits} $0, [$1];", 1, bits)
        return made.emit(lw, addresses[registers[0]], [], predicate)

    _finish(lw, operation, atomic.run(act, 1))


@lowers("atomic_store")
def _atomic_store(lw: Lowering, operation: Operation) -> None:
    told = lw.named(operation, "pointer", "value", "mask")
    atomic, addresses = _start(lw, operation, told["pointer"], told["mask"], "release")
    value = told["value"]
    assert value is not None
    bits = memory_bits(atomic.kind)

    def act(registers: list[int], predicate: str, order: str) -> list[str]:
        words = to_words(lw, lw[value], registers, bits)
        made = Instruction(f"st{order}.global.b{bits} [$0], $1;", 0)
        return made.emit(lw, addresses[registers[0]], words, predicate)

    atomic.run(act, 1)

"""`atom` and `red`: reads and writes in one, in an order of threads that the seed decides.

Seed 0 takes threads in order. Lanes that meet at one address act one after the other, each on what
the one before left; lanes at different addresses act together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Frame, Mask
from blockstep.interp.ptx.isa.memory import known
from blockstep.interp.ptx.isa.registry import WIDTH, Instruction, Unsupported, form, unsigned

Step = Callable[[Bits, Bits, Bits], Bits]  # old, value, second value (of cas) -> new
_PLAIN = ("add", "min", "max", "and", "or", "xor")
_OWN = ("exch", "cas", "inc", "dec")
_UFUNCS: dict[str, Any] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_ROUNDS = 24  # so many lanes at an address are better folded address by address
_TINY = np.float32(1.1754944e-38)


@effect("atom", "red")
def atomic(i: Instruction, d: Decoder) -> Effect:
    """`atom.sem.scope.space.op.type d, [a], b{, c}`, and `red` without a result."""
    op = next((m for m in i.modifiers if m in (*_PLAIN, *_OWN)), "")
    if not op:
        d.fail(i.name)
    extra = frozenset({op, "acq_rel", "noftz"})
    space, count, type = known(i, d, extra)
    given = list(i.operands)
    ends = given.pop(0) if i.opcode == "atom" else ()
    ends = ends if isinstance(ends, tuple) else (ends,)
    puts = [d.result(end, type) for end in ends]
    address, place = d.address(given[0]), d.place
    values = given[1] if isinstance(given[1], tuple) else (given[1],)
    sources = [d.source(v, type) for v in values]
    second = d.source(given[2], type) if op == "cas" else sources[0]
    step, fold = _step(i, op, type, d), _fold(op, type)
    kind = unsigned(type)
    flush = op == "add" and type == "f32"

    def run(frame: Frame, mask: Mask) -> None:
        regs = frame.regs
        total = frame.active(frame.tid, mask).size
        olds = np.zeros((total, count), kind)
        act = _Act(step, fold, flush, place, op in ("cas", "exch"))
        news = np.stack([frame.active(regs[s], mask) for s in sources], axis=1)
        act.on(frame, space, address(frame), news, frame.active(regs[second], mask), mask, olds)
        for n, put in enumerate(puts):
            old = olds[:, n]
            put(frame, old.reshape(frame.shape) if mask is None else old, mask)

    return run


Reduction = Callable[[Frame, Bits, Bits, Bits], None]
REDUCTIONS = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    **{op: ("u32", "s32", "u64", "s64") for op in ("and", "or", "xor")},
}  # fmt: skip
"""By operation, the types of elements that bulk copies combine with memory."""


def reduction(i: Instruction, op: str, type: str, d: Decoder) -> Reduction:
    """What combines values with global memory: `reduce(frame, addresses, values, mask)`, addresses
    for the frame, values for the mask."""
    if type not in REDUCTIONS[op]:
        d.fail(f"{i.name} of {type}")
    bits = f"b{WIDTH[type]}" if op in ("and", "or", "xor") else type
    flush = op == "add" and type == "f32"
    act = _Act(_step(i, op, bits, d), _fold(op, bits), flush, d.place, False)

    def run(frame: Frame, address: Bits, values: Bits, mask: Bits) -> None:
        news = values.view(unsigned(type)).reshape(-1, 1)
        act.on(frame, "global", address, news, news[:, 0], mask, np.zeros_like(news))

    return run


def _step(i: Instruction, op: str, type: str, d: Decoder) -> Step:
    if op == "exch":
        return lambda old, value, second: value
    if op == "cas":
        return lambda old, value, second: np.where(old == value, second, old)
    if op == "inc":
        return lambda old, value, second: np.where(old >= value, old * 0, old + old.dtype.type(1))
    if op == "dec":
        return lambda old, value, second: np.where(
            (old == 0) | (old > value), value, old - old.dtype.type(1)
        )
    try:
        compute: Any = form(Instruction(op, (type,), (type,), i.line, (None, None, None))).compute
    except Unsupported:
        return d.fail(i.name)
    return lambda old, value, second: compute(old, value)


def _fold(op: str, type: str) -> tuple[Any, Any] | None:
    """The ufunc that folds many values in order, and the dtype it is to see."""
    ufunc = _UFUNCS.get(op)
    if ufunc is None or WIDTH[type] < 32 or "x2" in type:
        return None
    if type[0] == "f":
        return (ufunc, np.dtype(f"f{WIDTH[type] // 8}")) if op == "add" else None
    return ufunc, np.dtype(f"{'i' if type[0] == 's' else 'u'}{WIDTH[type] // 8}")


class _Act:
    """One atomic instruction, on the places that its lanes name."""

    def __init__(
        self, step: Step, fold: Any, flush: bool, place: Place, swaps: bool = False
    ) -> None:
        self.step, self.fold, self.flush, self.place = step, fold, flush, place
        self.swaps = swaps  # what it writes does not depend on what it finds

    def on(
        self, frame: Frame, space: str, address: Bits, values: Bits, second: Bits, mask: Mask,
        olds: Bits,
    ) -> None:  # fmt: skip
        """Values are (lanes, vector); `olds` takes what was there."""
        memory, size = frame.batch.memory, values.itemsize * values.shape[1]
        frame.batch.asked(True, True)
        if space == "generic":
            for name, inside, part in memory.spaces(frame, address, mask):
                lanes = _among(frame, mask, part)
                found = olds[lanes]
                self.on(frame, name, inside, values[lanes], second[lanes], part, found)
                olds[lanes] = found
            return
        if space == "global":
            a = frame.active(address.astype(np.int64), mask)
            one = memory._one_storage(a, size)
            if one is not None:
                memory.check_origin(frame, one, a, size, _flat(frame, mask), self.place)
            everything = np.ones(a.size, bool)
            parts = (
                memory.apart(frame, a, size, mask, self.place, True)
                if one is None or one.readonly else [(one, everything)]
            )  # fmt: skip
            frame.batch.seen(frame, "atomic", "global", a, size, _flat(frame, mask), self.place)
            for storage, here in parts:
                typed = storage.typed(np.dtype(values.dtype), -storage.base % values.itemsize)
                start = storage.base + -storage.base % values.itemsize
                self._vector(frame, typed, a[here] - start, values, second, here, olds, self.flush)
            return
        data, index, good = memory._placed(frame, space, address, size, mask, self.place)
        frame.batch.seen(frame, "atomic", space, index, size, mask, self.place, good)
        index = index if mask is not None else frame.full(index).reshape(-1)
        here = np.ones(index.size, bool) if good is None else np.broadcast_to(good, index.shape)
        if mask is None and good is not None:
            here = frame.full(good).reshape(-1)
        typed = memory.view(space, values.itemsize)
        self._vector(frame, typed, index[here], values, second, here, olds, False)

    def _vector(
        self, frame: Frame, typed: Bits, at: Bits, values: Bits, second: Bits, here: Bits,
        olds: Bits, flush: bool,
    ) -> None:  # fmt: skip
        random = frame.batch.random
        order = np.arange(at.size) if random is None else random.permutation(at.size)
        for n in range(values.shape[1]):
            index = at // values.itemsize + n
            before = self._apply(
                typed, index[order], values[here, n][order], second[here][order], flush
            )
            back = np.empty_like(before)
            back[order] = before
            if not np.array_equal(back, typed[index]):
                frame.batch.progress += 1
            olds[here, n] = back

    def _apply(self, typed: Bits, index: Bits, values: Bits, second: Bits, flush: bool) -> Bits:
        step = _flushing(self.step) if flush else self.step
        by = _in_order(index)
        sorted_index = index[by]
        starts = np.flatnonzero(np.r_[True, sorted_index[1:] != sorted_index[:-1]])
        if starts.size == index.size:
            old = typed[index]
            typed[index] = step(old, values, second)
            return old
        counts = np.diff(np.r_[starts, index.size])
        if self.swaps and _same(values[by], starts, counts) and _same(second[by], starts, counts):
            return self._swapped(typed, index, values, second, by, starts, counts)
        if (
            self.fold is not None
            and counts.max() > _ROUNDS
            and not (flush and _small(values, typed[sorted_index[starts]]))
        ):
            return self._folded(typed, index, values, by, starts, counts)
        rank = np.arange(index.size) - np.repeat(starts, counts)
        old = np.empty(index.size, typed.dtype)
        by_rank = _in_order(rank)
        edges = np.searchsorted(rank[by_rank], np.arange(counts.max() + 1))
        for first, last in zip(edges, [*edges[1:], index.size], strict=True):
            lanes = by[by_rank[first:last]]
            old[lanes] = typed[index[lanes]]
            typed[index[lanes]] = step(old[lanes], values[lanes], second[lanes])
        return old

    def _swapped(
        self, typed: Bits, index: Bits, values: Bits, second: Bits, by: Bits, starts: Bits,
        counts: Bits,
    ) -> Bits:  # fmt: skip
        """Lanes that all compare with one value and would write one: the first of a place decides,
        and the others see what it left."""
        first = by[starts]
        at = index[first]
        before = typed[at]
        typed[at] = self.step(before, values[first], second[first])
        seen = np.repeat(typed[at], counts)
        seen[starts] = before
        old = np.empty(index.size, typed.dtype)
        old[by] = seen
        return old

    def _folded(
        self, typed: Bits, index: Bits, values: Bits, by: Bits, starts: Bits, counts: Bits
    ) -> Bits:
        ufunc, kind = self.fold
        old = np.empty(index.size, typed.dtype)
        if ufunc is np.add and kind.kind != "f":
            old[by] = _summed(typed, index[by[starts]], values[by], starts, counts)
            return old
        for first, count in zip(starts.tolist(), counts.tolist(), strict=True):
            lanes = by[first : first + count]
            at = index[lanes[0]]
            chain = np.concatenate([typed[at : at + 1], values[lanes]]).view(kind)
            chain = ufunc.accumulate(chain, dtype=kind).view(typed.dtype)
            old[lanes], typed[at] = chain[:-1], chain[-1]
        return old


def _same(values: Bits, starts: Bits, counts: Bits) -> bool:
    """Whether the values of each place, which follow each other, are all equal."""
    return bool((values == np.repeat(values[starts], counts)).all())


def _summed(typed: Bits, at: Bits, values: Bits, starts: Bits, counts: Bits) -> Bits:
    """Adds integers to places, whose values follow each other, and gives what each found there."""
    sums = np.cumsum(values, dtype=typed.dtype)
    before = sums - values
    first = typed[at] - before[starts]  # modulo 2^width, like everything here
    typed[at] = first + sums[starts + counts - 1]
    found: Bits = before + np.repeat(first, counts)
    return found


def _in_order(index: Bits) -> Bits:
    """What sorts places, lanes of one place staying as they are. Of 16 bits NumPy sorts by digits,
    ten times as fast."""
    low = int(index.min(initial=0))
    near = int(index.max(initial=0)) - low < 1 << 16
    return np.argsort((index - low).astype(np.uint16) if near else index, kind="stable")


def _flushing(step: Step) -> Step:
    """`atom.add.f32` on global memory takes subnormal numbers for zeros (PTX, `atom`)."""

    def flushed(bits: Bits) -> Bits:
        small = (bits & np.uint32(0x7F800000)) == 0
        return np.where(small, bits & np.uint32(0x80000000), bits)

    return lambda old, value, second: flushed(step(flushed(old), flushed(value), second))


def _small(*arrays: Bits) -> bool:
    """Whether a sum could meet a subnormal number: then it is done one by one."""
    for bits in arrays:
        magnitude = np.abs(bits.view(np.float32))
        if ((magnitude > 0) & (magnitude < _TINY * 2**25)).any():
            return True
    return False


def _flat(frame: Frame, mask: Mask) -> Mask:
    return np.ones(frame.shape, bool) if mask is None else mask


def _among(frame: Frame, mask: Mask, part: Mask) -> Bits:
    """Which of the lanes in `mask` are in `part`."""
    if part is None:
        return np.ones(frame.active(frame.tid, mask).size, bool)
    return frame.active(part, mask)

"""The proof that programs do not collide, against sets of programs for every byte.

A launch is a list of accesses by batches of programs: affine or irregular, under masks, of widths 1
to 8. The proof of the whole launch is exact; the test of one program's accesses without barriers only
errs on the side of suspicion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.grid.checks import Checks
from blockstep.interp.grid.distinct import Shared
from blockstep.interp.grid.lanes import LEAD
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.races import Log, _intervals_apart
from blockstep.interp.memory import AddressSpace, View
from blockstep.ir import Operation
from blockstep.language.op import OPS
from blockstep.runtime.arrays import Binding, view_of

BYTES = 96
PROGRAMS = 6
GRID = (PROGRAMS, 1, 1)
WANTED = [
    Checks(judged=True, race=race, overlap=overlap)
    for race, overlap in ((True, True), (True, False), (False, True))
]
OPERATION = Operation(OPS["barrier"], [], [], {}, (), None)


@dataclass(frozen=True)
class Step:
    """One access: the offsets of its lanes and which are on, for each program."""

    kind: str
    itemsize: int
    strides: tuple[int, ...]
    block: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]  # by batch, by program
    mask: Any  # by batch: None, or an array over lead + block
    dense: bool


def batches(cuts: list[int]) -> list[range]:
    """The programs of each batch."""
    ends = [0, *cuts, PROGRAMS]
    return [range(a, b) for a, b in zip(ends, ends[1:], strict=False) if b > a]


@st.composite
def steps(draw: Any, parts: list[range], aligned: bool) -> Step:
    """An access inside the memory."""
    itemsize = draw(st.sampled_from([1, 2, 4, 8]))
    block = draw(st.sampled_from([(), (2,), (4,), (2, 2)]))
    grain = draw(st.sampled_from([itemsize, itemsize, itemsize if aligned else 1]))
    strides = tuple([draw(st.integers(-2, 3)) * grain for _ in block])
    low = sum(min(s * (n - 1), 0) for s, n in zip(strides, block, strict=True))
    high = sum(max(s * (n - 1), 0) for s, n in zip(strides, block, strict=True))
    most = (BYTES - itemsize - high + low) // grain
    regular = draw(st.booleans())
    first, step = draw(st.integers(0, most)), draw(st.integers(0, 4))
    starts: list[tuple[int, ...]] = []
    masks: list[Any] = []
    for part in parts:
        some = [
            min(first + step * p, most) if regular else draw(st.integers(0, most)) for p in part
        ]
        starts.append(tuple([grain * n - low for n in some]))
        masks.append(None)
        if draw(st.integers(0, 2)) == 0:
            shape = (1, 1, len(part), *block)
            flags = draw(
                st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
            )
            masks[-1] = np.array(flags).reshape(shape)
    kind = draw(st.sampled_from(["read", "write", "write", "atomic"]))
    return Step(kind, itemsize, strides, block, tuple(starts), tuple(masks), draw(st.booleans()))


@st.composite
def launches(draw: Any, aligned: bool = False) -> tuple[list[range], list[Step]]:
    """Batches, and up to four accesses of each."""
    parts = batches(sorted(draw(st.sets(st.integers(1, PROGRAMS - 1), max_size=2))))
    return parts, draw(st.lists(steps(parts, aligned), min_size=1, max_size=4))


def touch(step: Step, batch: int, view: View) -> Touch:
    """The access of one batch."""
    assert view.storage is not None
    lead = (1, 1, len(step.starts[batch]))
    starts = view.base + np.array(step.starts[batch], np.int64).reshape(lead)
    made = Touch(view, view.storage, step.itemsize, step.block, mask=step.mask[batch], lead=lead)
    made.starts, made.strides = starts, step.strides
    if step.dense:
        made.addresses, made.starts = made.dense(), None
    return made


def colliding(parts: list[range], given: list[Step]) -> bool:
    """By sets: a byte that two programs write, or one writes and another touches otherwise. Atomics
    of several sizes are as good as stores."""
    if len({step.itemsize for step in given if step.kind == "atomic"}) > 1:
        given = [replace(s, kind="write") if s.kind == "atomic" else s for s in given]
    who: dict[tuple[int, str], set[int]] = {}
    for step in given:
        for batch, part in enumerate(parts):
            for row, program in enumerate(part):
                for byte in bytes_of(step, batch, row):
                    who.setdefault((byte, step.kind), set()).add(program)
    for byte in range(BYTES):
        sets = {k: who.get((byte, k), set()) for k in ("read", "write", "atomic")}
        if len(sets["write"]) > 1:
            return True
        for one, other in (("write", "read"), ("write", "atomic"), ("atomic", "read")):
            if sets[one] and sets[other] and len(sets[one] | sets[other]) > 1:
                return True
    return False


def logged(
    parts: list[range], given: list[Step], counts: bool = False, checks: Checks = WANTED[0]
) -> Log:
    """The log of a launch; what one program does to itself is not asked here."""
    view = view_of(np.zeros(BYTES, np.int8), "x", Binding(AddressSpace()))
    read = any(step.kind != "write" for step in given)
    log = Log(checks, frozenset({id(view.storage)} if read else ()), counts=counts)
    for batch in range(len(parts)):
        record(log, parts, given, batch, view)
    return log


def record(log: Log, parts: list[range], given: list[Step], batch: int, view: View) -> None:
    """One batch of a launch, with a barrier between any two accesses."""
    log.begin_batch()
    coordinates = (0, 0, np.arange(parts[batch].start, parts[batch].stop).reshape(1, 1, -1))
    for step in given:
        log.barrier()
        getattr(log, step.kind)(OPERATION, touch(step, batch, view), coordinates, GRID)


@settings(max_examples=500, deadline=None)
@given(launches())
def test_the_proof_is_exact(launch: tuple[list[range], list[Step]]) -> None:
    assert proved(logged(*launch)) != colliding(*launch)


@settings(max_examples=200, deadline=None)
@given(launches())
def test_intervals_only_pass_what_does_not_meet(launch: tuple[list[range], list[Step]]) -> None:
    parts, given_steps = launch
    (entries,) = logged(parts, given_steps).entries.values()
    if _intervals_apart(entries):
        everything = [Step("write", *_rest(s)) for s in given_steps]
        assert not colliding(parts, everything)


def _rest(step: Step) -> tuple[Any, ...]:
    return step.itemsize, step.strides, step.block, step.starts, step.mask, step.dense


@settings(max_examples=300, deadline=None)
@given(launches(aligned=True))
def test_a_program_that_meets_its_own_store_is_suspicious(
    launch: tuple[list[range], list[Step]],
) -> None:
    """Without barriers: a load or store over other lanes' bytes of an earlier store. (Only aligned
    accesses are logged: others were refused before.)"""
    parts, given_steps = launch
    view = view_of(np.zeros(BYTES, np.int8), "x", Binding(AddressSpace()))
    log, clean = Log(), True
    try:
        for batch, part in enumerate(parts):
            log.begin_batch()
            coordinates = (0, 0, np.arange(part.start, part.stop).reshape(1, 1, -1))
            for step in given_steps:
                getattr(log, step.kind)(OPERATION, touch(step, batch, view), coordinates, GRID)
    except Suspicion:
        clean = False
    if clean:
        assert not any(meets(parts, a, b) for a, b in _pairs(given_steps))


def _pairs(given_steps: list[Step]) -> list[tuple[Step, Step]]:
    return [
        (a, b)
        for i, b in enumerate(given_steps)
        for a in given_steps[:i]
        if a.kind == "write" and b.kind != "atomic"
    ]


def _equal(a: Step, b: Step, batch: int) -> bool:
    """Lane for lane the same place, in one batch."""
    same = (a.itemsize, a.strides, a.block) == (b.itemsize, b.strides, b.block)
    return same and a.starts[batch] == b.starts[batch] and a.mask[batch] is b.mask[batch]


def meets(parts: list[range], a: Step, b: Step) -> bool:
    """Whether a program touches a byte in both, but for the very same lanes."""
    for batch, part in enumerate(parts):
        if _equal(a, b, batch):
            continue
        for row in range(len(part)):
            if bytes_of(a, batch, row) & bytes_of(b, batch, row):
                return True
    return False


def bytes_of(step: Step, batch: int, row: int) -> set[int]:
    """The bytes that a program touches."""
    return {byte for under in lanes_of(step, batch, row) for byte in under}


def lanes_of(step: Step, batch: int, row: int) -> Iterator[range]:
    """The bytes of each active lane of a program."""
    for lane in np.ndindex(*step.block):
        mask = step.mask[batch]
        if mask is None or mask[(0,) * (LEAD - 1) + (row, *lane)]:
            at = step.starts[batch][row]
            at += sum(i * s for i, s in zip(lane, step.strides, strict=True))
            yield range(at, at + step.itemsize)


@st.composite
def scatters(draw: Any) -> tuple[list[range], list[Step]]:
    """A launch that stores elements of one size, often to places that no other lane has."""
    parts = batches(sorted(draw(st.sets(st.integers(1, PROGRAMS - 1), max_size=2))))
    itemsize, lanes = draw(st.sampled_from([2, 4, 8])), draw(st.sampled_from([1, 1, 2]))
    free = draw(st.permutations(range(0, BYTES - itemsize * lanes + 1, itemsize * lanes)))
    apart = draw(st.booleans())
    given_steps = []
    for number in range(draw(st.integers(1, 2))):
        places = [free[(p + PROGRAMS * number) % len(free)] for p in range(PROGRAMS)]
        if not apart and draw(st.booleans()):
            places[draw(st.integers(0, PROGRAMS - 1))] = places[0]
        masks: list[Any] = []
        for part in parts:
            count = len(part) * lanes
            flags = draw(st.none() | st.lists(st.booleans(), min_size=count, max_size=count))
            shape = (1, 1, len(part), lanes)
            masks.append(None if flags is None else np.array(flags, bool).reshape(shape))
        starts = tuple([tuple([places[p] for p in part]) for part in parts])
        dense = draw(st.integers(0, 3)) > 0
        made = Step("write", itemsize, (itemsize,), (lanes,), starts, tuple(masks), dense)
        given_steps.append(made)
    return parts, given_steps


def shared(parts: list[range], given_steps: list[Step]) -> bool:
    """By sets: whether two lanes of the launch, of whatever programs and stores, touch one byte."""
    seen: set[int] = set()
    for step in given_steps:
        for batch, part in enumerate(parts):
            for row in range(len(part)):
                for under in lanes_of(step, batch, row):
                    if seen.intersection(under):
                        return True
                    seen.update(under)
    return False


def proved(log: Log) -> bool | None:
    """Whether a launch is proved clean; None if the log of every access is asked for."""
    try:
        log.prove(GRID)
    except Shared:
        return None
    except Suspicion:
        return False
    return True


@settings(max_examples=600, deadline=None)
@given(scatters(), st.sampled_from(WANTED))
def test_counting_proves_exactly_that_no_two_lanes_meet(
    launch: tuple[list[range], list[Step]], wanted: Checks
) -> None:
    parts, given_steps = launch
    log = logged(parts, given_steps, counts=True, checks=wanted)
    if not log.counted:  # only regular stores
        assert proved(log) != (wanted.race and colliding(parts, given_steps))
    else:
        assert proved(log) == (None if shared(parts, given_steps) else True)


@settings(max_examples=500, deadline=None)
@given(st.one_of(launches(aligned=True), scatters()))
def test_counting_first_changes_no_verdict(launch: tuple[list[range], list[Step]]) -> None:
    try:
        found = proved(logged(*launch, counts=True))
    except Shared:  # elements of another size
        found = None
    if found is None:
        found = proved(logged(*launch))
    assert found != colliding(*launch)


@settings(max_examples=200, deadline=None)
@given(scatters(), st.integers(0, 2))
def test_two_workers_count_what_one_does(launch: tuple[list[range], list[Step]], cut: int) -> None:
    """The batches of a launch, shared out."""
    parts, given_steps = launch
    cut = min(cut, len(parts))
    logs = []
    view = view_of(np.zeros(BYTES, np.int8), "x", Binding(AddressSpace()))
    for mine in (range(cut), range(cut, len(parts))):
        log = Log(counts=True)
        for batch in mine:
            record(log, parts, given_steps, batch, view)
        logs.append(log)
    logs[0].take_in(logs[1])
    assert proved(logs[0]) == proved(logged(parts, given_steps, counts=True))

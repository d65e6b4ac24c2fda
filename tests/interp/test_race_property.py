"""The race checker against sets: for every byte, the same verdict as comparing every access with
every other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.findings import Access, Site
from blockstep.interp.checkers.race import Race, Shadow
from blockstep.interp.clocks import Epoch
from blockstep.interp.events import Launched
from blockstep.interp.memory import AddressSpace
from blockstep.interp.reach import Reach

BYTES = 24
CODE = (lambda: None).__code__


@dataclass(frozen=True)
class Step:
    """One thing that one program instance does."""

    program: int
    kind: Any  # read, write, atomic, barrier
    size: int = 1
    offsets: tuple[int, ...] | int = 0  # an int: a scalar access
    sem: str = "acq_rel"
    scope: str = "gpu"
    op: str = ""
    wrote: tuple[bool, ...] = ()  # of a compare-and-swap, by lane

    @property
    def lanes(self) -> list[tuple[int, bool]]:
        """First byte of each lane, and whether it writes."""
        starts = [self.offsets] if isinstance(self.offsets, int) else list(self.offsets)
        if self.kind == "read" or self.op == "atomic_load":
            return [(at, False) for at in starts]
        if self.op == "atomic_cas":
            return list(zip(starts, self.wrote, strict=True))
        return [(at, True) for at in starts]


class Watched(Race):
    """Remembers every racy byte instead of telling."""

    def __init__(self, barriers: bool) -> None:
        super().__init__(barriers)
        self.racy: set[int] = set()

    def conflict(
        self, access: Access, reach: Reach, shadow: Shadow, cells: Any, first: Epoch
    ) -> None:
        index: Any = shadow.index(reach)
        numbers = np.arange(index.start, index.stop) if isinstance(index, slice) else index
        for cell in numbers[cells].tolist():
            self.racy |= set(range(cell * shadow.grain, (cell + 1) * shadow.grain))


@dataclass
class Seen:
    """One access to one byte."""

    step: int
    program: int
    kind: str
    writes: bool
    size: int
    narrow: bool


@dataclass
class Oracle:
    """Happens-before as sets of steps, races by comparing all pairs."""

    barriers: bool
    touched: dict[int, list[Seen]] = field(default_factory=dict)
    acquired: dict[int, set[int]] = field(default_factory=dict)
    scalars: dict[int, set[int]] = field(default_factory=dict)
    blocks: dict[int, set[int]] = field(default_factory=dict)
    covered: dict[int, set[int]] = field(default_factory=dict)
    released: dict[int, set[int]] = field(default_factory=dict)
    racy: set[int] = field(default_factory=set)

    def run(self, steps: list[Step]) -> set[int]:
        """The bytes with a race."""
        for number, step in enumerate(steps):
            if step.kind == "barrier":
                self.covered[step.program] = set(self.blocks.get(step.program, ()))
            else:
                self._do(number, step)
        return self.racy

    def _do(self, number: int, step: Step) -> None:
        p = step.program
        mine = self.acquired.setdefault(p, set())
        under = [(b, w) for at, w in step.lanes for b in range(at, at + step.size)]
        crosses = step.kind == "atomic" and step.scope != "cta"
        if crosses and step.sem in ("acquire", "acq_rel"):
            for b, _ in under:
                mine |= self.released.get(b, set())
        for b, writes in under:
            now = Seen(number, p, step.kind, writes, step.size, step.scope == "cta")
            for past in self.touched.setdefault(b, []):
                if past.program != p and past.step not in mine and _conflict(past, now):
                    self.racy.add(b)
        for b, writes in under:
            now = Seen(number, p, step.kind, writes, step.size, step.scope == "cta")
            self.touched[b].append(now)
        kind = self.scalars if isinstance(step.offsets, int) else self.blocks
        kind.setdefault(p, set()).add(number)
        releases = crosses and step.sem in ("release", "acq_rel")
        covered = self.covered if self.barriers else self.blocks
        out = mine | self.scalars.get(p, set()) | covered.get(p, set())
        for b, writes in under:
            if step.kind == "write":
                self.released[b] = set()
            elif writes and releases:
                self.released[b] = self.released.get(b, set()) | out


def _conflict(past: Seen, now: Seen) -> bool:
    if not (past.writes or now.writes):
        return False
    if past.kind == now.kind == "atomic":
        return past.size != now.size or past.narrow or now.narrow
    return True


def checked(steps: list[Step], barriers: bool) -> set[int]:
    """The bytes that the checker says have a race."""
    space = AddressSpace()
    storage = space.add_array(np.zeros(BYTES // 8, np.uint64))
    checker = Watched(barriers)
    checker.launch(Launched(lambda event: None, space=space))
    for number, step in enumerate(steps):
        program, site = (step.program, 0, 0), Site(CODE, 2 * (number % 7))
        if step.kind == "barrier":
            checker.barrier(program, site)
            continue
        op = step.op or {"read": "load", "write": "store", "atomic": "atomic_add"}[step.kind]
        addresses = np.asarray(step.offsets, np.int64) + storage.base
        access = Access(
            op, None, storage, step.kind, step.size, addresses, None, program, site,
            sem=step.sem if step.kind == "atomic" else None,
            scope=step.scope if step.kind == "atomic" else None,
        )  # fmt: skip
        checker.access(access)
        if step.kind == "atomic":
            wrote = np.array(step.wrote) if step.wrote else None
            if wrote is not None and isinstance(step.offsets, int):
                wrote = wrote.reshape(())
            checker.atomic(access, None, None, wrote)
    return checker.racy


@st.composite
def a_step(draw: st.DrawFn, shape: str, odd: bool) -> Step:
    program = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["read", "write", "read", "write", "atomic", "atomic", "barrier"]))
    if kind == "barrier":
        return Step(program, kind)
    size = draw(st.sampled_from([1, 2, 4, 8]))
    place = (
        st.integers(0, BYTES - size)
        if odd and kind != "atomic"
        else st.integers(0, BYTES // size - 1).map(lambda i: i * size)
    )
    scalar = shape == "scalar" or (shape == "mixed" and draw(st.booleans()))
    if scalar:
        offsets: Any = draw(place)
    elif draw(st.booleans()):
        count = draw(st.integers(1, BYTES // size))
        start = draw(st.integers(0, BYTES - count * size)) if odd else 0
        start = start if kind != "atomic" else 0
        offsets = tuple(start + i * size for i in range(count))
    else:
        offsets = tuple(draw(st.lists(place, min_size=1, max_size=6)))
    if kind != "atomic":
        return Step(program, kind, size, offsets)
    sem = draw(st.sampled_from(["relaxed", "acquire", "release", "acq_rel", "acq_rel"]))
    scope = draw(st.sampled_from(["gpu", "gpu", "sys", "cta"]))
    op = draw(st.sampled_from(["atomic_add", "atomic_cas", "atomic_load"]))
    lanes = 1 if isinstance(offsets, int) else len(offsets)
    wrote = tuple(draw(st.lists(st.booleans(), min_size=lanes, max_size=lanes)))
    return Step(program, kind, size, offsets, sem, scope, op, wrote if op == "atomic_cas" else ())


@st.composite
def runs(draw: st.DrawFn, shape: str) -> list[Step]:
    odd = draw(st.booleans())
    return draw(st.lists(a_step(shape, odd), min_size=2, max_size=24))


@settings(max_examples=1200, deadline=None)
@given(runs("mixed"))
def test_races_are_those_of_the_sets(steps: list[Step]) -> None:
    assert checked(steps, barriers=False) == Oracle(barriers=False).run(steps)


@settings(max_examples=120, deadline=None)
@given(runs("scalar"))
def test_scalar_races_are_those_of_the_sets(steps: list[Step]) -> None:
    assert checked(steps, barriers=True) == Oracle(barriers=True).run(steps)


@settings(max_examples=120, deadline=None)
@given(runs("block"))
def test_block_races_are_those_of_the_sets(steps: list[Step]) -> None:
    assert checked(steps, barriers=True) == Oracle(barriers=True).run(steps)


@settings(max_examples=150, deadline=None)
@given(runs("mixed"))
def test_no_race_is_made_up(steps: list[Step]) -> None:
    assert checked(steps, barriers=True) <= Oracle(barriers=True).run(steps)

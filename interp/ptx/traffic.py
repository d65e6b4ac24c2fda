"""What memory requests cost: sectors of global memory, wavefronts of shared memory, by PTX line.

A request is one instruction of one warp. A sector is 32 bytes. Shared memory has 32 banks of 4 bytes
and serves, in one wavefront, one word of each; lanes with 8 or 16 bytes come in halves or quarters of
a warp. The least that a request can cost is what its bytes fill.

Arrays of the host begin anywhere; here each is taken to begin at a multiple of 256 bytes, as what a
device allocates does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.memory import AddressSpace
from blockstep.interp.ptx.batch import Batch, Watcher
from blockstep.interp.ptx.decode import Program
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask

SECTOR, BANKS, WORD = 32, 32, 4
ALIGNMENT = 256  # bytes: of what a device allocates


@dataclass(frozen=True, order=True, slots=True)
class Pattern:
    """How the lanes of a request that costs too much lie in memory: `runs` of lanes that follow
    each other without a gap, and `stride` bytes from lane to lane (None: not always the same)."""

    runs: int
    stride: int | None


@dataclass(slots=True)
class Cost:
    """Of one line: requests, what they took, and the least that they could have; the bytes that
    their lanes asked for, and how often requests that took more were of which pattern."""

    space: str
    requests: int = 0
    taken: int = 0
    least: int = 0
    nbytes: int = 0
    patterns: Counter[Pattern] = field(default_factory=Counter)


@dataclass(slots=True)
class Traffic(Watcher):
    """A watcher that counts, for one launch. `costs` has the lines that touch memory."""

    costs: dict[Place, Cost] = field(default_factory=dict)
    program: Program | None = None
    runs: dict[int, int] = field(default_factory=dict)  # by block, how many threads ran it

    def begin(self, batch: Batch) -> None:
        """A batch of the launch."""
        self.program, self.runs = batch.program, batch.faults.runs

    def instructions(self) -> Counter[Place]:
        """By line, how many instructions ran, times the threads that ran each."""
        found: Counter[Place] = Counter()
        for code in self.program.codes if self.program is not None else ():
            threads = self.runs.get(code.number, 0)
            for place in _instructions(code):
                found[place] += threads
        return found

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """Count one instruction. Copies by the copy engine and by wgmma are no requests of warps."""
        if space not in ("global", "shared") or kind == "product" or at.size == 0:
            return
        if np.unique(frame.flat_index).size < frame.size:
            return
        if space == "global":
            at = _aligned(frame.batch.memory.space, at)
        rows = _rows(frame, at, mask)
        rows = rows[(rows >= 0).any(axis=1)]
        cost = self.costs.setdefault(place, Cost(space))
        cost.requests += len(rows)
        lanes = (rows >= 0).sum(axis=1)
        cost.nbytes += int(lanes.sum()) * size
        if space == "global":
            taken = _distinct(rows // SECTOR)
            least = -(-_distinct(rows) * size // SECTOR)
        else:
            taken = _wavefronts(rows, size)
            least = -(-lanes * max(size, WORD) // (BANKS * WORD))
        cost.taken += int(taken.sum())
        cost.least += int(least.sum())
        worst = int(np.argmax(taken - least)) if len(rows) else 0
        if len(rows) and taken[worst] > least[worst]:
            cost.patterns[_pattern(rows[worst], size)] += 1


def _instructions(code: Any) -> list[Place]:
    """The lines of a block, each instruction once: operands that are prepared are steps, too."""
    places = [
        p for p, before in zip(code.places, [None, *code.places], strict=False) if p != before
    ]
    if code.end.kind != "fall" and code.end.place not in places[-1:]:
        places.append(code.end.place)
    return places


def _aligned(space: AddressSpace, at: Bits) -> Bits:
    """Addresses as they were if each storage began at a multiple of `ALIGNMENT`."""
    bases = np.array([0, *(s.base for s in space.storages)], np.int64)
    which = np.searchsorted(bases, at, "right") - 1
    moved: Bits = at - bases[which] % ALIGNMENT
    return moved


def _pattern(row: Bits, size: int) -> Pattern:
    steps = np.diff(row[row >= 0])
    apart = int(np.count_nonzero((steps != size) & (steps != 0)))
    same = steps.size > 0 and bool((steps == steps[0]).all())
    return Pattern(apart + 1, int(steps[0]) if same else None)


def _rows(frame: Frame, at: Bits, mask: Mask) -> Bits:
    """Addresses by warp and lane; -1 for lanes that touch nothing."""
    full = np.full(frame.shape, -1, np.int64)
    if mask is None:
        full[:] = at
    else:
        full[np.broadcast_to(mask, frame.shape)] = at
    here = frame.warps.present
    rows = frame.warps.to(full)
    return rows if here is None else np.where(here, rows, -1)


def _distinct(rows: Bits) -> Bits:
    """How many different numbers each row has, negative ones not counted."""
    ordered = np.sort(rows, axis=1)
    new: Bits = ordered[:, 1:] != ordered[:, :-1]
    first: Bits = ordered[:, 0] >= 0
    found: Bits = (new & (ordered[:, 1:] >= 0)).sum(axis=1) + first
    return found


def _wavefronts(rows: Bits, size: int) -> Bits:
    """By request: for each part of the warp that is served together, the words of the fullest bank."""
    words = max(size // WORD, 1)
    parts = min(words, LANES)
    groups = rows.reshape(-1, LANES // parts)
    word = (groups // WORD)[:, :, None] + np.arange(words)
    which = np.broadcast_to(np.arange(len(groups))[:, None, None], word.shape)
    used = np.broadcast_to((groups >= 0)[:, :, None], word.shape)
    pairs = np.unique(np.stack([which[used], word[used]], axis=1), axis=0)
    banks = np.bincount(pairs[:, 0] * BANKS + pairs[:, 1] % BANKS, minlength=len(groups) * BANKS)
    fullest: Bits = banks.reshape(-1, BANKS).max(axis=1)
    made: Bits = fullest.reshape(-1, parts).sum(axis=1)
    return made

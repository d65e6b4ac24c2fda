"""Independent answers to what `blame` says: a log of every access of the step machine, and each link's
value worked out again from its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.findings import Access
from blockstep.findings.blame import Accesses, Chain, Link
from blockstep.interp.events import Checker
from blockstep.language.op import OPS, Family
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.writers import listen

MOVES = (Family.SHAPE, Family.GATHER)


@dataclass(frozen=True, slots=True)
class Entry:
    """One access as it was heard, with all of memory before it where it lies."""

    program: Any
    kind: str
    op: str
    line: int
    hits: int
    before: bytes


class Everything(Checker):
    """Writes down who touches some bytes, by looking at every address of every access."""

    def __init__(self, address: int, size: int) -> None:
        self.low, self.high = address, address + size
        self.entries: list[Entry] = []

    def access(self, access: Access) -> None:
        addresses = np.asarray(access.addresses)
        hit = (addresses < self.high) & (addresses + access.itemsize > self.low)
        if access.mask is not None:
            hit = hit & access.mask
        if np.any(hit) and access.storage is not None:
            at = self.low - access.storage.base
            raw = access.storage.data[at : at + self.high - self.low].tobytes()
            line = access.site.span.line
            made = Entry(
                access.program, access.kind, access.op, line, int(np.count_nonzero(hit)), raw
            )
            self.entries.append(made)


def logged(launch: Launch, view: Any, address: int) -> tuple[list[Entry], bytes]:
    """Who touches an element in the whole launch, and what it holds in the end."""
    log = Everything(address, view.itemsize)
    launch.memory.restore()
    try:
        listen(launch, log)
        at = address - view.storage.base
        return log.entries, view.storage.data[at : at + view.itemsize].tobytes()
    finally:
        launch.memory.restore()


def same_accesses(found: Accesses, entries: list[Entry], end: bytes) -> None:
    """Asserts that an answer is what was logged."""
    assert found.count == len(entries)
    kept = list(found)
    if not found.left_out:
        told = [(a.program, a.kind, a.op, a.span.line, a.lane_count) for a in kept]
        assert told == [(e.program, e.kind, e.op, e.line, e.hits) for e in entries]
        assert [a.number for a in kept] == list(range(len(entries)))
    values = [e.before for e in entries] + [end]
    for a in kept:
        assert holds(a.before, values[a.number])
        assert holds(a.after, values[a.number + 1])
    assert holds(found.end, end)


def holds(value: Any, raw: bytes) -> bool:
    """Whether a value is what stands in memory (any byte but 0 is true)."""
    return equal(value, np.frombuffer(raw, np.asarray(value).dtype)[0])


def equal(x: Any, y: Any) -> bool:
    """The same bits, or both NaN."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "biu" and np.isnan(x) and np.isnan(y):
        return True
    return bool(x.tobytes() == y.tobytes())


def check_links(chain: Chain) -> int:
    """Asserts that every value follows from its operands, where one can tell; how many could."""
    return sum(check_link(link) for link in chain.head.walk())


def check_link(link: Link) -> bool:
    """The same for one link."""
    assert len(link.roles) == len(link.operands)
    if link.note in ("more", "undefined", "skipped") or not link.operands:
        return False
    roles = dict(zip(link.roles, link.operands, strict=True))
    if "memory" in roles:
        assert equal(link.value, roles["memory"].value) or sizes_differ(link, roles["memory"])
        return True
    if link.op in ("store", "atomic_store", "atomic_cas", "atomic_xchg"):
        stored = roles["stored"]
        assert equal(link.value, stored.value) or sizes_differ(link, stored)
        return True
    if link.op == "atomic_add":
        return added(link)
    if link.note == "masked":
        assert equal(link.value, roles["value"].value)
        return True
    op = OPS.get(link.op) or (OPS["libdevice"] if "function" in link.attributes else None)
    if op is None:
        return False
    if op.family in MOVES or op.family is Family.SELECT:
        assert equal(link.value, roles["value"].value), link
        return True
    if op.family in (Family.REDUCE, Family.SCAN):
        assert len(link.operands) >= min(link.took, 1)
        if "value" in roles:
            assert equal(link.value, roles["value"].value), link
            return True
        return bool(link.took == len(link.operands) and sums(link, op))
    if op.family is not Family.ELEMENTWISE or "function" in link.attributes:
        return False
    return recomputed(link, op)


def sizes_differ(link: Link, other: Link) -> bool:
    return np.asarray(link.value).nbytes != np.asarray(other.value).nbytes


def recomputed(link: Link, op: Any) -> bool:
    """An elementwise operation on the operands' values (pointers are none)."""
    values = [np.asarray([o.value]) for o in link.operands]
    try:
        with np.errstate(all="ignore"):
            result = op.meaning(*values, **link.attributes)
    except TypeError:  # a pointer is missing
        return False
    results = result if type(result) is tuple else (result,)
    assert any(equal(np.ravel(r)[0], link.value) for r in results), link
    return True


def added(link: Link) -> bool:
    """Integers that an atomic added to what was there, if all are told."""
    kind = np.asarray(link.value).dtype
    if link.left_out or kind.kind not in "iu" or "old" not in link.roles:
        return False
    total = sum(int(o.value) for o in link.operands)
    assert (total - int(link.value)) % (1 << 8 * kind.itemsize) == 0, link
    return True


def sums(link: Link, op: Any) -> bool:
    """A short integer sum, in any order."""
    region = link.attributes["region"].single
    if region is None or region.op.name != "add" or np.asarray(link.value).dtype.kind not in "iu":
        return False
    total = sum(int(o.value) for o in link.operands)
    assert (total - int(link.value)) % (1 << 8 * np.asarray(link.value).nbytes) == 0
    return True

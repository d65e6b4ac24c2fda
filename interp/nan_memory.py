"""NaN in memory: births of what is loaded, and what a store or an atomic leaves there.

Invariant: an element of memory that this launch stored NaN to is told with the birth of that NaN,
for as long as it is NaN; any other NaN in memory is born at the load that meets it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.findings import Access, Birth
from blockstep.interp import births, born
from blockstep.interp.births import Births, Origins, Register, births_of
from blockstep.interp.memory import Storage
from blockstep.interp.stored_births import StoredBirths
from blockstep.language.value import tensor

_KEPT = 64  # stores whose operands are remembered; of older ones, one element's values
_UNDEFINED = ("poison", "unread")


class NanMemory:
    """The memory of one launch."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._stored: dict[Storage, StoredBirths] = {}
        self._kept: deque[Births] = deque()  # stored ones that still have their operands

    def loaded(self, accesses: list[Access], other: Births | None, result: tensor) -> tensor:
        """The elements that were read, with births; `other` has those of the fill value."""
        floating = result.type.scalar._floating
        lanes = births.nans(result) if floating else np.ones(result.type.shape, bool)
        if lanes is None or not (floating or self._stored):
            return result
        ids = np.zeros(result.type.shape, np.int64)
        origins: Origins = {}
        if other is not None:
            ids, origins = np.where(lanes, other.ids, ids), dict(other.origins)
        for access in accesses:
            here = lanes if access.mask is None else lanes & access.mask
            if access.storage is not None and here.any():
                ids = self._read(access, here, result, ids, origins)
        return births.give(result, ids, origins) if ids.any() else result

    def _read(self, access: Access, here: Any, result: tensor, ids: Any, origins: Origins) -> Any:
        """Ids with those of the elements that one access has read."""
        known = self._known(access)
        origins.update(known.origins)
        ids = np.where(here, known.ids, ids)
        fresh = here & (known.ids == 0)
        if result.type.scalar._floating and fresh.any():
            ids = self._register.add(ids, origins, fresh, _by_load(access, result))
        return ids

    def _known(self, access: Access) -> Births:
        """What this launch has stored where an access goes."""
        stored = None if access.storage is None else self._stored.get(access.storage)
        if stored is None:
            return Births(np.zeros(access.shape, np.int64), {})
        return stored.get(access.addresses, access.itemsize)

    def stored(self, access: Access, value: tensor) -> Births | None:
        """After a store: the NaN that it wrote, if any."""
        found = births_of(value)
        if access.storage is None or (found is None and access.storage not in self._stored):
            return None
        active = _active(access)
        if found is not None:
            found = Births.of(np.where(active, found.ids, 0), found.origins)
        self._remember(access, active, found)
        if found is None or not value.type.scalar._floating:
            return None
        return _defined(value, found)

    def updated(
        self, access: Access, given: tensor, old: Any, new: Any, changed: Any
    ) -> Births | None:
        """After an atomic: the NaN that it left, which is its operand's, lay there, or was made
        by it. `old` has the shape of the block, `new` is what the active lanes left; `changed`
        says which lanes wrote (None: the active ones)."""
        if access.storage is None:
            return None
        active = _active(access)
        wrote = active if changed is None else active & changed
        left = np.zeros(access.shape, new.dtype)
        left[active] = np.reshape(new, -1)
        lanes = wrote & np.isnan(left) if given.type.scalar._floating else np.zeros_like(wrote)
        if not lanes.any():
            self._remember(access, wrote, None)
            return None
        found = self._left(access, lanes, given, old)
        self._remember(access, wrote, found)
        return _defined(given, found)

    def _left(self, access: Access, lanes: Any, given: tensor, old: Any) -> Births:
        known, mine = self._known(access), births_of(given)
        ids, origins = np.where(lanes, known.ids, 0), dict(known.origins)
        if mine is not None:
            ids = np.where(lanes & (mine.ids != 0), mine.ids, ids)
            origins.update(mine.origins)
        there = lanes & (ids == 0) & np.isnan(old)
        if there.any():
            ids = self._register.add(ids, origins, there, _by_load(access, given))
        fresh = lanes & (ids == 0)
        if fresh.any():
            ids = self._register.add(ids, origins, fresh, _by_atomic(access, given, old))
        return Births.of(ids, origins)

    def _remember(self, access: Access, written: Any, found: Births | None) -> None:
        """Elements that were written are NaN of these births, or not NaN any more."""
        storage = access.storage
        assert storage is not None
        stored = self._stored.get(storage)
        if stored is None:
            if found is None or not found.origins:
                return
            stored = self._stored[storage] = StoredBirths(storage)
        ids = np.zeros(access.shape, np.int64) if found is None else found.ids
        stored.put(access.addresses[written], ids[written], access.itemsize)
        if found is not None and found.origins:
            stored.adopt(found)
            self._kept.append(found)
            if len(self._kept) > _KEPT:
                self._kept.popleft().settle()


def _active(access: Access) -> Any:
    return np.ones(access.shape, bool) if access.mask is None else access.mask


def _defined(value: tensor, found: Births) -> Births:
    """Without elements that are undefined: another checker tells of them, and any bits may be NaN."""
    marked = [t.lanes for name, t in (value.marks or {}).items() if name in _UNDEFINED]
    if not marked:
        return found
    lost = np.logical_or.reduce([np.broadcast_to(m, found.ids.shape) for m in marked])
    return Births.of(np.where(lost, 0, found.ids), found.origins)


def _by_load(access: Access, x: tensor) -> Callable[[int], Birth]:
    kind = x.type.scalar.codegen_name()
    return born.by_load(access.view, access.addresses, kind, access.site, access.program)


def _by_atomic(access: Access, given: tensor, old: Any) -> Callable[[int], Birth]:
    """Of the atomics, only a sum makes NaN of numbers."""
    span, program, value = access.site.span, access.program, given.handle
    shape, kind = access.shape, given.type.scalar.codegen_name()

    def tell(position: int) -> Birth:
        index = tuple(int(i) for i in np.unravel_index(position, shape))
        texts = tuple(born.number_text(np.broadcast_to(x, shape)[index]) for x in (old, value))
        return Birth("computed", span, program, "add", texts, index, kind)

    return tell

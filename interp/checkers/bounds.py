"""Bounds: every byte that an access touches belongs to the argument that its pointer came from.

What decides is the view that was passed, not the memory around it: another array that happens to
lie there, and bytes of the same storage between the rows of a strided view, are outside. Where
the launch itself explains the access (another argument of that storage, strides passed as
numbers), it is a doubt and is executed; all else is skipped. A pointer without provenance (loaded
from memory, made from an integer) may reach any storage that is alive.

Also judged here: an access must start at a multiple of its size.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from blockstep.findings import Access, Argument, Lanes, Misaligned, OutOfBounds, elements_of
from blockstep.interp.events import Checker, Flags
from blockstep.interp.memory import NULL_PAGE, Storage, View
from blockstep.interp.reach import Addresses, Reach, reach_of

Where = Literal["end", "start", "gap", "null", "unknown"]


class Bounds(Checker):
    """Keeps memory safe for the machine and for all other checkers, so it always comes first."""

    name: ClassVar[str] = "bounds"

    def access(self, access: Access) -> Flags | None:
        """The lanes that must not be executed."""
        reach = reach_of(access)
        if not reach.count:
            return None
        view = access.view
        if view is None:
            bad = self._anywhere(access, reach)
        elif view.covers(reach.low, reach.high):
            bad = None
        else:
            bad = self._outside(access, reach, view)
        odd = self._misaligned(access, reach, bad)
        if bad is None and odd is None:
            return None
        both = odd if bad is None else bad if odd is None else bad | odd
        assert both is not None
        return reach.spread(both, access.shape)

    def _outside(self, access: Access, reach: Reach, view: View) -> Flags | None:
        inside = view.contains(reach.addresses, reach.size)
        if inside.all():
            return None
        bad = ~inside
        explained, who = view.explanation(reach.addresses[bad], self.launched.space, reach.size)
        if explained.any():
            doubt = bad.copy()
            doubt[bad] = explained
            by = Argument.of(who) if isinstance(who, View) else who
            self._tell(access, reach, doubt, view, by)
            bad &= ~doubt
        if not bad.any():
            return None
        self._tell(access, reach, bad, view, None)
        return bad

    def _anywhere(self, access: Access, reach: Reach) -> Flags | None:
        """Without provenance: inside one storage, whichever."""
        storage = access.storage
        if storage is not None and storage.base <= reach.low and reach.high <= storage.end:
            return None
        if storage is not None:
            return self._past(access, reach, storage)
        found = self.launched.space.locate(reach.addresses)
        if len(found) == 1 and found[0][0] is not None and reach.high <= found[0][0].end:
            access.storage = found[0][0]
            return None
        bad = np.ones(reach.count, bool)
        for where, lanes in found:
            if where is not None:
                fits = reach.addresses <= where.end - reach.size
                bad &= ~(fits if lanes is None else lanes & fits)
        if not bad.any():
            return None
        self._tell(access, reach, bad, None, None)
        return bad

    def _past(self, access: Access, reach: Reach, storage: Storage) -> Flags:
        bad = (reach.addresses < storage.base) | (reach.addresses > storage.end - reach.size)
        self._tell(access, reach, bad, None, None)
        return bad

    def _tell(
        self, access: Access, reach: Reach, bad: Flags, view: View | None, by: Argument | str | None
    ) -> None:
        if access.known is not None:
            bad = bad & ~reach.active(access.known, access.shape)
            if not bad.any():
                return
        outside = reach.addresses[bad]
        where = _where(outside, view, reach.size)
        offsets = first = None
        if view is not None:
            size = view.itemsize
            low, high = reach.low - view.base, reach.high - reach.size - view.base
            offsets = (low // size, high // size)
            nearest = outside.max() if where == "start" else outside.min()
            first = (int(nearest) - view.base) // size
        self.found(
            OutOfBounds,
            access.site,
            access.program,
            op=access.op,
            where=where,
            lanes=Lanes.of(reach.spread(bad, access.shape)),
            argument=None if view is None else Argument.of(view),
            offsets=offsets,
            first=first,
            masked=access.mask is not None,
            explained_by=by,
            scalars=dict(self.launched.space.integers),
            elements=() if view is None else elements_of(view, outside),
        )

    def _misaligned(self, access: Access, reach: Reach, bad: Flags | None) -> Flags | None:
        low_bits = reach.size - 1
        if not low_bits:
            return None
        if reach.aligned(low_bits):
            return None
        odd: Flags = (reach.addresses & low_bits) != 0
        if bad is not None:
            odd &= ~bad
        if not odd.any():
            return None
        view, address = access.view, int(reach.addresses[odd][0])
        self.found(
            Misaligned,
            access.site,
            access.program,
            op=access.op,
            needed=reach.size,
            lanes=Lanes.of(reach.spread(odd, access.shape)),
            argument=None if view is None else Argument.of(view),
            offset=None if view is None else address - view.base,
            remainder=address & low_bits,
        )
        return odd


def _where(outside: Addresses, view: View | None, size: int) -> Where:
    """On which side the lanes left; the end first, where most do."""
    if view is None:
        return "null" if int(outside.min()) < NULL_PAGE else "unknown"
    low, high = view.extent()
    if int(outside.max()) + size > high:
        return "end"
    return "start" if int(outside.min()) < low else "gap"

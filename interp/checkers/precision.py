"""Precision: NaN that reaches memory or decides something, and where it was born.

NaN is often legal, so this checker runs only where it is asked for. A NaN is reported where it is
stored or goes into an atomic, where it is a branch's condition, and where a comparison with it
decides a branch, a mask, an address or a bound. Nothing is said of a NaN that is discarded: chosen
away by `tl.where`, dropped by a maximum, masked off. A comparison of NaN with NaN (`x == x`) or with
an infinity asks whether a value is a number, and its answer is right.

The facet is `interp.births`; it follows NaN through memory, too, within one launch, so that what
another program instance stored is told with its first birth. NaN that lay in memory before the
launch is born at the load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from blockstep.findings import (
    Access,
    Argument,
    Birth,
    Lanes,
    Mark,
    NaNReached,
    Program,
    Site,
    elements_of,
)
from blockstep.interp import births, born, marks
from blockstep.interp.births import Births, Origin, Origins, births_of
from blockstep.interp.events import Checker, Launched
from blockstep.interp.memory import Storage, View
from blockstep.interp.stored_births import StoredBirths
from blockstep.language.frames import user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

_KEPT = 64  # stores whose operands are remembered; of older ones, one element's values
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
Operands = tuple[Any, ...]


class Precision(Checker):
    """Follows NaN from birth to where it matters."""

    name: ClassVar[str] = "precision"

    def launch(self, launch: Launched) -> None:
        """A launch begins, and no NaN is known."""
        super().launch(launch)
        self._count = 0
        self._stored: dict[Storage, StoredBirths] = {}
        # What each program instance accesses in the operation that it executes, with the elements
        # that an atomic left: one that waits is in the middle of its own.
        self._accesses: dict[Program, list[Access]] = {}
        self._left: dict[Access, tuple[Any, Any, Any]] = {}
        self._kept: deque[Births] = deque()  # stored ones that still have their operands

    def argument(self, name: str, value: Any) -> None:
        """A scalar argument may be NaN."""
        if isinstance(value, tl_tuple):
            for part in value:
                self.argument(name, part)
        elif isinstance(value, tensor) and value.type.is_floating() and np.isnan(value.handle):
            span = self.launched.host
            if span is not None:
                kind = value.type.codegen_name()
                birth = Birth("passed", span, type_text=kind, argument=name)
                origin = self._origin(lambda position: birth)
                births.give(value, origin.ids(0), {origin.number: origin})

    def access(self, access: Access) -> None:
        """Remembers an access until its operation is done."""
        self._accesses.setdefault(access.program, []).append(access)

    def atomic(self, access: Access, old: Any, new: Any, changed: Any) -> None:
        """Remembers what an atomic found and left."""
        self._left[access] = (np.reshape(old, access.shape), new, changed)

    def value(
        self,
        program: Program,
        op: Op,
        operands: Operands,
        attributes: dict[str, Any],
        result: Any,
    ) -> Any:
        """After an operation: births of its result; NaN that it stored is reported."""
        if op.family is Family.MEMORY:
            accesses = self._accesses.pop(program, [])
            if result is not None:
                result = self._loaded(op, operands, accesses, result)
            for access in accesses:
                if access.kind == "write":
                    self._store(access, operands[1])
                elif access in self._left:
                    self._updated(access, operands, *self._left.pop(access))
            return result
        if type(result) is not tuple:
            return self._followed(program, op, operands, attributes, result, 0, (result,))
        return tuple(
            [
                self._followed(program, op, operands, attributes, x, k, result)
                for k, x in enumerate(result)
            ]
        )

    def branch(self, program: Program, value: Any, site: Site) -> None:
        """NaN itself as a condition counts as true."""
        found = births_of(value)
        if found is not None and value.type.scalar.is_floating():
            self.found(
                NaNReached, site, program, sink="branch", op="if",
                lanes=Lanes.of(np.ones(value.type.shape, bool)), birth=found.birth(0),
            )  # fmt: skip

    # Values.

    def _origin(self, tell: Callable[[int], Birth]) -> Origin:
        self._count += 1
        return Origin(self._count, tell)

    def _followed(
        self,
        program: Program,
        op: Op,
        operands: Operands,
        attributes: dict[str, Any],
        result: Any,
        number: int,
        results: tuple[Any, ...],
    ) -> Any:
        if not isinstance(result, tensor) or any(result is x for x in operands):
            return result
        if result.type.scalar.is_floating():
            lanes = births.nans(result)
            if lanes is None:
                return result
            ids = np.where(lanes, births.moved(op, operands, attributes, results)[number], 0)
            origins = births.gathered(operands)
            fresh = lanes & (ids == 0)
            if fresh.any():
                tell = born.by_operation(op, operands, attributes, result, user_site(), program)
                ids = _with_fresh(ids, fresh, origin := self._origin(tell))
                origins[origin.number] = origin
            return births.give(result, ids, origins)
        if all(births_of(x) is None for x in operands):
            return result
        if op.name in _SIGNS:
            return _compared(program, op, operands, result)
        ids = births.moved(op, operands, attributes, results)[number]
        return births.give(result, ids, births.gathered(operands)) if ids.any() else result

    # Memory.

    def _loaded(self, op: Op, operands: Operands, accesses: list[Access], result: tensor) -> tensor:
        """NaN among the elements read: stored by this launch, or there before it."""
        shape, floating = result.type.shape, result.type.scalar.is_floating()
        lanes = births.nans(result) if floating else np.ones(shape, bool)
        if lanes is None or not (floating or self._stored):
            return result
        ids = np.zeros(shape, np.int64)
        other = births_of(operands[2]) if op.name == "load" else None
        origins: Origins = {} if other is None else dict(other.origins)
        if other is not None:
            ids = np.where(lanes, other.ids, ids)
        for access in accesses:
            here = lanes if access.mask is None else lanes & access.mask
            if access.storage is not None and here.any():
                ids, origins = self._found_in(access, here, result, ids, origins)
        return births.give(result, ids, origins) if ids.any() else result

    def _found_in(
        self, access: Access, here: Any, result: tensor, ids: Any, origins: Origins
    ) -> tuple[Any, Origins]:
        """Ids with those of the elements that one access has read."""
        known = self._known(access)
        ids, origins = np.where(here, known.ids, ids), {**origins, **known.origins}
        fresh = here & (known.ids == 0)
        if result.type.scalar.is_floating() and fresh.any():
            kind = result.type.scalar.codegen_name()
            tell = born.by_load(access.view, access.addresses, kind, access.site, access.program)
            ids = _with_fresh(ids, fresh, origin := self._origin(tell))
            origins[origin.number] = origin
        return ids, origins

    def _known(self, access: Access) -> Births:
        """What this launch has stored where an access goes."""
        stored = None if access.storage is None else self._stored.get(access.storage)
        if stored is None:
            return Births(np.zeros(access.shape, np.int64), {})
        return stored.get(access.addresses, access.itemsize)

    def _store(self, access: Access, value: tensor) -> None:
        found = births_of(value)
        if access.storage is None or (found is None and access.storage not in self._stored):
            return
        active = np.ones(access.shape, bool) if access.mask is None else access.mask
        if found is None:
            self._remember(access, active, None)
            return
        found = Births.of(np.where(active, found.ids, 0), found.origins)
        if value.type.scalar.is_floating() and found.origins:
            self._tell(access, "store", _defined(value, found))
        self._remember(access, active, found)

    def _updated(
        self, access: Access, operands: Operands, old: Any, new: Any, changed: Any
    ) -> None:
        """NaN that an atomic left: its operand's, one that lay there, or one that it made."""
        if access.storage is None:
            return
        active = np.ones(access.shape, bool) if access.mask is None else access.mask
        wrote = active if changed is None else active & changed
        left = np.zeros(access.shape, new.dtype)
        left[active] = np.reshape(new, -1)
        if new.dtype.kind in "biu" or not (lanes := wrote & np.isnan(left)).any():
            if access.storage in self._stored:
                self._remember(access, wrote, None)
            return
        given = operands[2 if access.op == "atomic_cas" else 1]
        found = self._of_update(access, lanes, given, old)
        self._tell(access, "atomic", _defined(given, found))
        self._remember(access, wrote, found)

    def _of_update(self, access: Access, lanes: Any, given: tensor, old: Any) -> Births:
        mine = births_of(given)
        known = self._known(access)
        ids, origins = np.where(lanes, known.ids, 0), dict(known.origins)
        if mine is not None:
            ids = np.where(lanes & (mine.ids != 0), mine.ids, ids)
            origins.update(mine.origins)
        there = lanes & (ids == 0) & np.isnan(old)
        for fresh, tell in (
            (there, self._by_load(access, given)),
            (lanes & (ids == 0) & ~there, _by_atomic(access, given, old)),
        ):
            if fresh.any():
                ids = _with_fresh(ids, fresh, origin := self._origin(tell))
                origins[origin.number] = origin
        return Births.of(ids, origins)

    def _by_load(self, access: Access, given: tensor) -> Callable[[int], Birth]:
        kind = given.type.scalar.codegen_name()
        return born.by_load(access.view, access.addresses, kind, access.site, access.program)

    def _remember(self, access: Access, written: Any, found: Births | None) -> None:
        """Elements that were written are NaN of these births, or not NaN any more."""
        storage = access.storage
        assert storage is not None
        stored = self._stored.get(storage)
        if stored is None:
            if found is None:
                return
            stored = self._stored[storage] = StoredBirths(storage)
        ids = np.zeros(access.shape, np.int64) if found is None else found.ids
        stored.put(access.addresses[written], ids[written], access.itemsize)
        if found is not None and found.origins:
            stored.adopt(found)
            self._kept.append(found)
            if len(self._kept) > _KEPT:
                self._kept.popleft().settle()

    def _tell(self, access: Access, sink: str, found: Births) -> None:
        lanes = found.ids != 0
        if not lanes.any():
            return
        view: View | None = access.view
        self.found(
            NaNReached,
            access.site,
            access.program,
            sink=sink,
            op=access.op,
            lanes=Lanes.of(lanes),
            birth=found.birth(int(np.argmax(np.ravel(lanes)))),
            argument=None if view is None else Argument.of(view),
            elements=() if view is None else elements_of(view, access.addresses[lanes]),
        )


def _defined(value: tensor, found: Births) -> Births:
    """Without elements that are undefined: another checker tells of them, and any bits may be NaN."""
    marked = [t.lanes for n, t in (value.marks or {}).items() if n in ("poison", "unread")]
    if not marked:
        return found
    lost = np.logical_or.reduce([np.broadcast_to(m, found.ids.shape) for m in marked])
    return Births.of(np.where(lost, 0, found.ids), found.origins)


def _with_fresh(ids: Any, fresh: Any, origin: Origin) -> Any:
    """Ids with those of the elements that were born in an origin."""
    positions = np.arange(ids.size, dtype=np.int64).reshape(ids.shape)
    return np.where(fresh, origin.ids(positions), ids)


def _by_atomic(access: Access, given: tensor, old: Any) -> Callable[[int], Birth]:
    span, program, value = access.site.span, access.program, given.handle
    shape, kind = access.shape, given.type.scalar.codegen_name()

    def tell(position: int) -> Birth:
        index = tuple(int(i) for i in np.unravel_index(position, shape))
        texts = tuple(born.number_text(np.broadcast_to(x, shape)[index]) for x in (old, value))
        return Birth("computed", span, program, "add", texts, index, kind)

    return tell


def _compared(program: Program, op: Op, operands: Operands, result: tensor) -> tensor:
    """The answer to a comparison is marked where one side is NaN; but see the module's head."""
    x, y = operands
    if not x.type.scalar.is_floating():
        return result
    sides = [births_of(x), births_of(y)]
    lanes: Any = np.zeros(result.type.shape, bool)
    for side, other in zip(sides, (y, x), strict=True):
        if side is not None:
            lanes = lanes | ((side.ids != 0) & np.isfinite(other.handle))
    if not lanes.any():
        return result
    site, first = user_site(), int(np.argmax(np.ravel(lanes)))
    side = next(s for s in sides if s is not None and np.ravel(s.ids)[first])
    texts = tuple(
        born.number_text(np.ravel(np.broadcast_to(v.handle, lanes.shape))[first]) for v in operands
    )
    answer = str(bool(np.ravel(np.broadcast_to(result.handle, lanes.shape))[first])).lower()

    def mark() -> Mark:
        return Mark(
            "nan", site.span, program, op=_SIGNS[op.name], operands=texts, result=answer,
            birth=side.birth(first),
        )  # fmt: skip

    if result.form is not None:
        plain = tensor(result.handle, result.type)
        plain.marks = result.marks
        result = plain
    marks.add(result, "nan", lanes, mark)
    return result

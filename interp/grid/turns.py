"""Atomics of many program instances, in the order in which one instance after another makes them.

A batch runs an operation for all its instances before the next operation. If every element still
meets its atomics in the order of instances, then nothing tells the two orders apart: other accesses
that collide need an order too, and are suspicious anyway. `Turns` watches that, element by element.
Where an element met them otherwise, only sums and the like of integers, whose old values nobody
uses, come out the same. Atomics in loops whose old values nobody uses wait until the batch is done, and
are made in the right order then; nothing else may look at that memory meanwhile.

The step machine lets an instance wait that repeats an atomic in vain, and others go ahead of it. So
an atomic that an instance may repeat has to change memory each time, unless all atomics are sums and
the like of one kind: a maximum in vain lets another instance's sum go first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.plan import any_order
from blockstep.interp.memory import Storage
from blockstep.ir import Operation

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine

# (memory, elements, values) to the old elements, and a way to the new ones
Act = Callable[[Any, Any, tuple[Any, ...]], tuple[Any, Callable[[], Any]]]
MOST_HELD = 1 << 28  # bytes that wait for the end of a batch


@dataclass(slots=True, eq=False)
class _Waiting:
    """Atomics of one kind on one storage: elements, values and instances, by lane, a turn an entry."""

    operation: Operation
    storage: Storage
    turns: list[tuple[Any, Any, Any]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Turns:
    """Who was the last at each element. `seeded`: the order of instances is another one anyway;
    `precise`: no atomic may leave NaN."""

    seeded: bool = False
    precise: bool = False
    _last: dict[int, Any] = field(default_factory=dict)  # ids from 1, by storage
    _kinds: dict[int, set[Any]] = field(default_factory=dict)
    _turned: set[int] = field(default_factory=set)
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    _held: int = 0

    def put_off(
        self, operation: Operation, storage: Storage, index: Any, values: Any, ids: Any
    ) -> None:
        """Keeps an atomic until the batch is done."""
        held = self._waiting.setdefault(id(storage), _Waiting(operation, storage))
        if _kind(held.operation) != _kind(operation):
            raise Suspicion
        held.turns.append((index, values, ids))
        self._held += index.nbytes + values.nbytes + ids.nbytes
        if self._held > MOST_HELD:
            raise Suspicion

    def settle(self, storage: Storage) -> None:
        """Somebody else looks at this memory. Raises Suspicion if something waits for it."""
        if id(storage) in self._waiting:
            raise Suspicion

    def end_batch(self) -> None:
        """Makes what waits, program instance after program instance."""
        for held in self._waiting.values():
            index, values, ids = (np.concatenate(parts) for parts in zip(*held.turns, strict=True))
            turn = np.repeat(np.arange(len(held.turns)), [len(t[0]) for t in held.turns])
            order = np.argsort(ids, kind="stable")
            index, values, ids, turn = index[order], values[order], ids[order], turn[order]
            self.take(held.operation, held.storage, values.dtype, index, ids)
            combine, memory = held.operation.attributes["combine"], held.storage.typed(values.dtype)
            old = atomics.read_modify_write(memory, index, values, combine)
            new = atomics.COMBINE[combine](old, values)
            if self.precise and values.dtype.kind not in "biu" and np.isnan(new).any():
                raise Suspicion
            prove_progress(old, new, turn << 32 | ids)
        self._waiting, self._held = {}, 0

    def take(
        self, operation: Operation, storage: Storage, dtype: np.dtype[Any], index: Any, ids: Any
    ) -> None:
        """One atomic of a batch: elements and program instances, by lane, in order. Raises
        Suspicion where an element's order is another one and may matter."""
        key = id(storage)
        last = self._last.get(key)
        if last is None:
            last = self._last[key] = np.zeros(storage.nbytes // dtype.itemsize, np.int32)
        if last.size != storage.nbytes // dtype.itemsize:
            raise Suspicion  # atomics of two sizes
        kinds = self._kinds.setdefault(key, set())
        kinds.add((dtype, operation.attributes["combine"]) if any_order(operation) else None)
        before = last[index]
        if (before > ids).any():
            self._turned.add(key)
        last[index] = np.maximum(before, ids)
        if (self.seeded or key in self._turned) and (None in kinds or len(kinds) > 1):
            raise Suspicion


def _kind(operation: Operation) -> Any:
    return operation.attributes["combine"], operation.results[0].type.scalar


def prove_progress(old: Any, new: Any, ids: Any) -> None:
    """Raises Suspicion if some program instance (or turn of it) changed nothing. No lanes of one may
    share an element."""
    bits = np.dtype(f"u{old.dtype.itemsize}")
    changed = np.asarray(new, old.dtype).view(bits) != old.view(bits)
    if len(np.unique(ids)) != len(np.unique(ids[changed])):
        raise Suspicion


def in_turns(
    machine: GridMachine, operation: Operation, access: Touch, index: Any, on: Any,
    values: tuple[Any, ...], act: Act,
) -> Any:  # fmt: skip
    """The old elements, of an atomic that has to keep the order of program instances. Raises
    Suspicion if it is lost, or if an instance may wait."""
    z, y, x = machine.coordinates
    ids = np.asarray((z * machine.grid[1] + y) * machine.grid[0] + x, np.int64) + 1
    ids = ids.reshape(ids.shape + (1,) * len(access.block)) if ids.ndim else ids
    ids = np.broadcast_to(ids, machine.lead + access.block).reshape(-1)[on].astype(np.int32)
    turns, storage, dtype = machine.turns, access.storage, values[0].dtype
    careful = operation in machine.plan.repeated and not machine.plan.alike
    if careful and access.block and not machine.log.injective(access):
        raise Suspicion
    sums = operation.name in ("atomic_rmw", "tensor_reduce")
    if careful and sums and not operation.results[0].uses:
        turns.put_off(operation, storage, index, values[0], ids)
        return np.zeros(index.shape, dtype)
    turns.settle(storage)
    old, new = act(storage.typed(dtype, 0), index, values)
    turns.take(operation, storage, dtype, index, ids)
    if careful:
        prove_progress(old, new(), ids)
    return old

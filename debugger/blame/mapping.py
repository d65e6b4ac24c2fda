"""Whose memory is whose: for each element of an argument the instance that wrote it last."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from blockstep.debugger.blame.candidates import Dependent, heard
from blockstep.debugger.blame.running import aside, run, view_of
from blockstep.findings.blame import MemoryMap
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.grid.memory import Touch
from blockstep.interp.memory import Storage, View
from blockstep.runtime.ladder.launch import Launch


class _Map:
    """A hook of the grid machine: by granule of a storage, the last writer (from 1) and how often it
    was read. Instances are independent, so the last one in their order is the last writer."""

    def __init__(self, launch: Launch, storage: Storage, grain: int) -> None:
        self.grid, self.storage, self.grain = launch.grid, storage, grain
        cells = -(-storage.nbytes // grain) + 8
        self.writers, self.reads = np.zeros(cells, np.int64), np.zeros(cells, np.int32)
        self._lock = Lock()  # two workers may tell

    def __call__(self, kind: str, touch: Touch) -> None:
        if touch.storage is not self.storage or 0 in touch.block:
            return
        shape = touch.lead + touch.block
        offsets = touch.on(touch.dense() - self.storage.base).reshape(-1)
        ids = touch.programs(self.grid).reshape(touch.lead + (1,) * len(touch.block))
        ids = touch.on(np.broadcast_to(ids + 1, shape)).reshape(-1)
        order = np.argsort(ids, kind="stable")  # of lanes that share an element the last one stays
        cells, ids = offsets[order] // self.grain, ids[order]
        with self._lock:
            for part in range(-(-touch.itemsize // self.grain)):
                at = cells + part
                if kind != "read":
                    self.writers[at] = np.maximum(self.writers[at], ids)
                if kind != "write":
                    np.add.at(self.reads, at, 1)


def memory_map(launch: Launch, name: str) -> MemoryMap:
    """For each element of an array argument the linear id of the instance that wrote it last in a
    launch, and how often it was read (an atomic reads and writes).

    Raises LookupError for a name that is no array argument."""
    view = view_of(launch, name)
    storage = view.storage
    if storage is None:
        nothing = np.zeros(view.shape, np.int64)
        return MemoryMap(name, launch.grid, nothing - 1, nothing.astype(np.int32))
    with aside(launch):
        steps = [view.base - storage.base, *[step for _, _, step in view.footprint.axes]]
        grain = 1 if any(step % view.itemsize for step in steps) else view.itemsize
        found = _Map(launch, storage, grain)
        try:
            heard(launch, found)
        except Dependent:
            launch.memory.restore()
            return _by_steps(launch, view, storage)
        first = _offsets(view, storage) // grain
        parts = range(view.itemsize // grain)
        last = np.max([found.writers[first + part] for part in parts], axis=0)
        reads = np.max([found.reads[first + part] for part in parts], axis=0)
        return MemoryMap(name, launch.grid, last - 1, reads)


def writers(launch: Launch, name: str) -> Any:
    """The linear ids of `memory_map` alone: int64, in the argument's shape, -1 for nobody."""
    return memory_map(launch, name).writers


def _offsets(view: View, storage: Storage) -> Any:
    """Of each element of a view, where it begins in the storage, in bytes."""
    out: Any = np.full(view.shape, view.footprint.base - storage.base, np.int64)
    for axis, n, step in view.footprint.axes:
        dims = [1] * len(view.shape)
        dims[axis] = n
        out = out + (np.arange(n, dtype=np.int64) * step).reshape(dims)
    return out


def _by_steps(launch: Launch, view: View, storage: Storage) -> MemoryMap:
    """On the step machine: the last event of each byte, and whose it was."""
    log = WriteLog(grid=launch.grid)
    log.counts = True
    run(launch, log, 0, None)
    offsets = _offsets(view, storage)
    last, reads = log.last_of_all(storage), log.reads.get(storage.base)
    events = np.zeros(view.shape, np.int64)
    counts = np.zeros(view.shape, np.int32)
    for byte in range(view.itemsize):
        if last is not None:
            events = np.maximum(events, last[offsets + byte])
        if reads is not None:
            counts = np.maximum(counts, reads[offsets + byte])
    ids = np.concatenate([[-1], log.programs()]).astype(np.int64)
    return MemoryMap(view.name, launch.grid, ids[events], counts)


__all__ = ["memory_map", "writers"]

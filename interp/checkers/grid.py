"""Grid: outputs that a launch leaves unfinished, program instances that do nothing.

An output is memory that a factory made and nobody initialised, of which a launch wrote a part.
Another launch or the host may write the rest, so such outputs are kept in `Outputs` until the end
of the session, and judged then. One that a later launch reads is scratch memory: what it reads of
it is for the uninit checker to judge. A grid that is too large for the device is refused before it runs
(`runtime.launch`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from blockstep.findings import (
    MOST_ELEMENTS,
    Access,
    Argument,
    IdleInstances,
    NeverWritten,
    Program,
    Span,
)
from blockstep.interp.checkers.uninit import set_written
from blockstep.interp.events import Checker, Flags, Launched
from blockstep.interp.memory import Storage, View
from blockstep.interp.reach import reach_of

_KEPT = (
    256 << 20
)  # bytes of memory that `Outputs` keeps alive; past it the oldest is judged at once
_EXAMPLES = 4


class Placed(Protocol):
    """Something that knows where in the source it is: a site, an operation's location."""

    @property
    def span(self) -> Span: ...


@dataclass(slots=True, eq=False)
class Output:
    """An argument with holes, as a launch left it."""

    view: View
    storage: Storage
    stored_at: Placed
    checker: Grid

    def judge(self) -> None:
        """Tells of the elements that are still unwritten."""
        missing, first = self._holes()
        if missing:
            self.checker.tell_holes(self, missing, first)

    def _holes(self) -> tuple[int, npt.NDArray[np.int64]]:
        written = self._written()
        if written is None:
            return 0, np.zeros(0, np.int64)
        holes = ~np.lib.stride_tricks.as_strided(
            written[self.view.base - self.storage.base :],
            (*self.view.shape, self.view.itemsize),
            (*[s * self.view.itemsize for s in self.view.strides], 1),
            writeable=False,
        ).all(axis=-1)
        return int(holes.sum()), np.argwhere(holes)[:MOST_ELEMENTS]

    def _written(self) -> Flags | None:
        """With what the host wrote since the launch."""
        flags = self.storage.written
        for record in self.storage.records:
            if record.written is not None and flags is not None:
                start = record.base - self.storage.base
                look = record.look(self.storage.data[start : start + record.nbytes])
                flags[start : start + record.nbytes] = True if look is None else look
        return flags


class Outputs:
    """The unfinished outputs of a session: for each, the last launch that wrote to it."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], Output] = {}

    def add(self, output: Output) -> None:
        """Keeps an output, and its memory, until `judge`."""
        key = (output.view.base, output.storage.nbytes)
        self._waiting.pop(key, None)
        self._waiting[key] = output
        while sum(o.storage.nbytes for o in self._waiting.values()) > _KEPT:
            self._waiting.pop(next(iter(self._waiting))).judge()

    def read(self, storage: Storage) -> None:
        """A later launch reads here: scratch memory, and that launch knows which part to read."""
        for key, output in list(self._waiting.items()):
            if output.storage.base == storage.base:
                del self._waiting[key]

    def bases(self) -> set[int]:
        """Where the memory of the unfinished outputs starts."""
        return {output.storage.base for output in self._waiting.values()}

    def judge(self) -> None:
        """The session is over: what is unwritten now was never written."""
        waiting, self._waiting = self._waiting, {}
        for output in waiting.values():
            output.judge()


class Grid(Checker):
    """Looks at a launch as a whole; without `outputs` a launch is judged when it ends."""

    name: ClassVar[str] = "grid"

    def __init__(self, outputs: Outputs | None = None) -> None:
        self.outputs = outputs

    def launch(self, launch: Launched) -> None:
        """Starts counting."""
        super().launch(launch)
        self._busy = False
        self._touched: set[Program] = set()
        self._idle: list[Program] = []
        self._instances = self._accesses = 0
        self._stores: dict[int, tuple[Storage, View, Placed]] = {}
        self._scratch = self.outputs.bases() if self.outputs is not None else set()

    def access(self, access: Access) -> None:
        """Remembers who touched memory, and which argument was stored to."""
        self._accesses += 1
        reach = reach_of(access)
        if reach.count or access.skipped:
            self._touched.add(access.program)
        if not reach.count:
            return
        storage, view = access.storage, access.view
        if self._scratch and access.kind != "write" and storage is not None:
            self._read_scratch(storage)
        if access.kind == "read" or storage is None or storage.written is None:
            return
        set_written(storage, reach)  # the uninit checker may be off
        if view is not None and id(view) not in self._stores:
            self._stores[id(view)] = (storage, view, access.site)

    def _read_scratch(self, storage: Storage) -> None:
        if storage.base in self._scratch and self.outputs is not None:
            self._scratch.discard(storage.base)
            self.outputs.read(storage)

    def instance_end(self, program: Program) -> None:
        """Idle or not."""
        self._instances += 1
        if program in self._touched:
            self._touched.discard(program)
        else:
            self._idle.append(program)

    def summary(
        self,
        idle: int,
        examples: list[Program],
        total: int,
        stores: Iterable[tuple[Storage, View, Placed]],
        reads: Iterable[Storage],
    ) -> None:
        """What a machine that runs many instances at once counted itself, in place of the hooks."""
        for storage in reads:
            if self._scratch:
                self._read_scratch(storage)
        self._tell_idle(idle, examples, total)
        for storage, view, place in stores:
            self._stores[id(view)] = (storage, view, place)
        self._idle, self._accesses = [], 0
        self.launch_end()

    def _tell_idle(self, count: int, examples: list[Program], total: int) -> None:
        if count:
            some = tuple(examples[:_EXAMPLES])
            self.found(IdleInstances, None, None, count=count, total=total, examples=some)

    def launch_end(self) -> None:
        """One note on idle instances; the holes now or later."""
        if self._accesses:
            self._tell_idle(len(self._idle), self._idle, self._instances)
        if not self.launched.complete:
            return
        outputs = Outputs() if self.outputs is None else self.outputs
        for storage, view, site in self._stores.values():
            outputs.add(Output(view, storage, site, self))
        self._stores.clear()
        if self.outputs is None:
            outputs.judge()

    def tell_holes(self, output: Output, missing: int, first: Any) -> None:
        """An output that stayed unfinished."""
        made = output.storage.made_by
        argument = Argument.of(output.view)
        if made is not None:
            argument = replace(argument, made_by=made.made_by, made_at=made.made_at)
        self.found(
            NeverWritten,
            None,
            None,
            argument=argument,
            elements=tuple(tuple(int(i) for i in row) for row in first),
            count=missing,
            total=output.view.size,
            stored_at=output.stored_at.span,
        )

"""`Bench`: a checker and a few arrays, with one call for each thing that a kernel may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.findings import Access, Event, Site
from blockstep.interp.events import Checker, Launched
from blockstep.interp.memory import AddressSpace, View
from blockstep.language import types
from blockstep.runtime.arrays import Binding, view_of

CODE = (lambda: None).__code__
TYPES = {"float32": types.float32, "int32": types.int32, "int64": types.int64}


class Bench:
    """Shows accesses to one checker and executes them, as a machine would."""

    def __init__(self, checker: Checker, **arrays: np.ndarray[Any, Any]) -> None:
        self.checker = checker
        self.events: list[Event] = []
        self.space = AddressSpace()
        self.views: dict[str, View] = {}
        self.skipped: Any = None
        for name, array in arrays.items():
            self.views[name] = view_of(array, name, Binding(self.space))
        self.begin()

    def begin(self) -> None:
        """A launch."""
        self.checker.launch(Launched(self.events.append, "kernel", (4, 1, 1), self.space))

    def at(self, name: str, index: Any) -> Any:
        """Addresses of elements, counted from the argument's first."""
        view = self.views[name]
        return np.asarray(view.base + np.asarray(index, np.int64) * view.itemsize)

    def access(
        self, kind: Any, op: str, name: str, index: Any, p: int, line: int, **more: Any
    ) -> Access:
        """Shows one access; `skipped` has the checker's answer."""
        view = self.views[name]
        addresses = more.pop("addresses", None)
        access = Access(
            op, view, view.storage, kind, more.pop("size", view.itemsize),
            self.at(name, index) if addresses is None else addresses, more.pop("mask", None),
            (p, 0, 0), Site(CODE, 2 * line), **more,
        )  # fmt: skip
        self.skipped = self.checker.access(access)
        return access

    def load(self, name: str, index: Any, p: int = 0, line: int = 0, **more: Any) -> None:
        """A load whose result nobody needs."""
        self.access("read", "load", name, index, p, line, **more)

    def store(
        self, name: str, index: Any, value: Any, p: int = 0, line: int = 1, **more: Any
    ) -> None:
        """A store, executed lane after lane."""
        kind = np.float32 if "float32" in self.views[name].type_text else np.int32
        shape = np.shape(index)
        block = np.broadcast_to(np.asarray(value, kind), shape)
        access = self.access("write", "store", name, index, p, line, value=block, **more)
        self._put(access, block)

    def _put(self, access: Access, block: Any) -> None:
        assert access.storage is not None
        memory = access.storage.typed(block.dtype)
        where = (access.addresses - access.storage.base) // block.dtype.itemsize
        if access.mask is None:
            memory[where] = block
        else:
            memory[where[access.mask]] = block[access.mask]

    def atomic(
        self,
        op: str,
        name: str,
        index: Any,
        p: int = 0,
        line: int = 2,
        wrote: Any = None,
        **more: Any,
    ) -> None:
        """An atomic; memory stays as it is, which no checker looks at."""
        access = self.access("atomic", op, name, index, p, line, **more)
        self.checker.atomic(access, None, None, None if wrote is None else np.asarray(wrote))

    def barrier(self, p: int = 0) -> None:
        """A debug_barrier."""
        self.checker.barrier((p, 0, 0), Site(CODE, 0))

    def instances(self, count: int, body: Callable[[int], None]) -> None:
        """Program instances one after the other."""
        for p in range(count):
            self.checker.instance((p, 0, 0))
            body(p)
            self.checker.instance_end((p, 0, 0))

    def only(self) -> Any:
        """The one event that there is."""
        assert len(self.events) == 1, self.events
        return self.events[0]

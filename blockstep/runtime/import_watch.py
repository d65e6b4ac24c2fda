"""`ImportWatch`: to be told when a module has been imported, without importing it.

Invariant: the module's own finder and loader do all the work; the watch only calls `then` when they are done. It
works beside other finders that pass requests on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class ImportWatch(MetaPathFinder):
    """Calls `then` each time the module `name` has been executed, while it is on `sys.meta_path`."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self.then = then
        self._asking = False

    def start(self) -> None:
        """Begin to watch."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Watch no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the finders after this one give, with a loader that tells us."""
        if fullname != self.name or self._asking:
            return None
        self._asking = True
        try:
            others = sys.meta_path[sys.meta_path.index(self) + 1 :]
            found = (finder.find_spec(fullname, path, target) for finder in others)
            spec = next((spec for spec in found if spec is not None), None)
        finally:
            self._asking = False
        loader = None if spec is None else spec.loader
        if loader is not None and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self.then()

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

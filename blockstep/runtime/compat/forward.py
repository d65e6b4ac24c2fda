"""Names found where they are defined, when they are first asked for.

A compat module lists the modules that may define its names. That keeps importing it cheap and free
of cycles, and a name that none of them has fails with a text saying so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def lookup(module: str, sources: Sequence[str]) -> Callable[[str], Any]:
    """A `__getattr__` for `module` that searches `sources` in order."""

    def find(name: str) -> Any:
        if not name.startswith("__"):
            for source in sources:
                found = getattr(importlib.import_module(source), name, _MISSING)
                if found is not _MISSING:
                    return found
        raise AttributeError(f"unsupported: blockstep has no {module}.{name}")

    return find


_MISSING = object()

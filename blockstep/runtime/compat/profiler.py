"""`triton.profiler` (Proton): sessions and scopes are accepted; there are no device counters to
read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockstep.errors import UnsupportedError

__path__: list[str] = []


def start(name: str | None = None, **options: Any) -> int:
    """Begin a session; its number."""
    return 0


def activate(session: int | None = None) -> None: ...


def deactivate(session: int | None = None, flushing: bool = False) -> None: ...


def finalize(session: int | None = None, output_format: str = "") -> None: ...


@contextmanager
def scope(name: str, metrics: dict[str, float] | None = None) -> Iterator[None]:
    """A named part of the program."""
    yield


def parse(metrics: Any, filename: str, *rest: Any) -> tuple[Any, Any]:
    """Refuse: no session writes a file."""
    raise UnsupportedError(f"unsupported: blockstep writes no Proton profile ({filename})")


def print_tree(*args: Any, **kwargs: Any) -> None:
    """Refuse: no session writes a file."""
    raise UnsupportedError("unsupported: blockstep writes no Proton profile")

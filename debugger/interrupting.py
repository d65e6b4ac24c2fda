"""Ctrl-C while a session moves: it asks, and does not break off what puts memory back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Inside, Ctrl-C calls `ask` instead of raising KeyboardInterrupt, where it would raise that: in the
    main thread, and nobody else handles it."""
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: ask())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


__all__ = ["asking"]

"""Ctrl-C while a launch runs: it stops at its line instead of ending the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """SIGINT calls `interrupt` inside. A second one, if the first did not help, is an ordinary
    KeyboardInterrupt. Outside of the main thread nothing changes: signals do not come there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def handler(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        interrupt()

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


__all__ = ["interruptible"]

"""Memory that a launch uses again and again instead of asking the kernel for fresh pages.

A batch makes and drops a few arrays of the same size for every operation. glibc gives blocks from 128
KB on back to the kernel, so that each of them costs its page faults anew: on 2^22 float32, twelve
elementwise operations take five times as long. While a launch runs, the limits are raised and the
freed blocks stay where the next operation finds them; at its end the limits are put back and what
is free is returned. Elsewhere (another C library) nothing is done: only speed is at stake.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's names, from malloc.h
_KEPT = 1 << 28  # bytes: blocks below are kept while a launch runs
_DEFAULT = 128 << 10

_lock = threading.Lock()
_users = 0


def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


_library = _glibc()


def _limit(size: int) -> None:
    assert _library is not None
    _library.mallopt(_MMAP_THRESHOLD, min(size, 32 << 20))
    _library.mallopt(_TRIM_THRESHOLD, size)


@contextmanager
def arena() -> Iterator[None]:
    """Freed memory stays with the process inside the `with`."""
    global _users
    if _library is None:
        yield
        return
    with _lock:
        _users += 1
        if _users == 1:
            _limit(_KEPT)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limit(_DEFAULT)

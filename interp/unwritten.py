"""Memory that nothing has written: the pattern it is filled with, and which bytes still hold it.

Invariant: a byte that somebody wrote is never called unwritten on purpose. The rule (per storage):

* filled, and no byte changed since the last look: nobody wrote, what was unwritten still is,
  exactly;
* otherwise runs of at least 8 unwritten bytes that still equal the pattern are unwritten, and so
  are whole gaps of 4 to 7 bytes between written ones, and whole storages under 8 bytes. Anything
  else counts as written.

The pattern is 16 random bytes chosen once per process, without 0, small numbers and 255, so that a
flag or a zero never looks like it; a byte's place in it is its offset from the start of the
storage, modulo 16.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.interp.footprint import Flags

Bytes = npt.NDArray[np.uint8]

PATTERN = bytes(0x81 + secrets.randbelow(0xFF - 0x81) for _ in range(16))
LONG_RUN = 8  # bytes: so many equal ones are no accident
SHORT_RUN = 4  # bytes: enough for a gap that is untouched as a whole

_CHUNK = 1 << 20
_TILE: Bytes = np.frombuffer(PATTERN * (_CHUNK // 16 + 2), np.uint8)


def fill(data: Bytes) -> None:
    """Write the pattern over `data`, which starts at the start of its storage."""
    for start in range(0, data.size, _CHUNK):
        part = data[start : start + _CHUNK]
        part[:] = _TILE[: part.size]


def look(data: Bytes, written: Flags) -> Flags | None:
    """Which bytes are written now, when `written` were before (it is changed); None: all."""
    if data.size == 0:
        return None
    changed = [span for span in _chunks(data.size) if _has_changed(data, written, *span)]
    if not changed:
        return written
    before = {span: _context(written, *span) for span in changed}
    for span in changed:
        _look_at_chunk(data, written, before[span], *span)
    return None if bool(written.all()) else written


def _chunks(size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, size, _CHUNK):
        yield start, min(start + _CHUNK, size)


def _has_changed(data: Bytes, written: Flags, start: int, stop: int) -> bool:
    if _is_filled(data[start:stop]) or written[start:stop].all():
        return False
    differs = data[start:stop] != _TILE[: stop - start]
    return bool((differs > written[start:stop]).any())


def _is_filled(part: Bytes) -> bool:
    """Whether all of a chunk still has the pattern, eight bytes at a time."""
    words = part.size // 8 * 8
    same = part[:words].view(np.uint64) == _TILE[:words].view(np.uint64)
    return bool(same.all() and (part[words:] == _TILE[words : part.size]).all())


def _context(written: Flags, start: int, stop: int) -> Flags:
    """The flags of a chunk and 16 bytes on either side; outside, everything is written."""
    around = np.ones(stop - start + 32, bool)
    lo, hi = max(start - 16, 0), min(stop + 16, written.size)
    around[lo - start + 16 : hi - start + 16] = written[lo:hi]
    return around


def _look_at_chunk(data: Bytes, written: Flags, before: Flags, start: int, stop: int) -> None:
    same = ~before
    lo, hi = max(start - 16, 0), min(stop + 16, data.size)
    inner = slice(lo - start + 16, hi - start + 16)
    same[inner] &= data[lo:hi] == _TILE[inner]
    if not _has_whole_words(same):
        written[start:stop] = True
        return
    edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
    first, last = edges[::2], edges[1::2]  # runs [first, last) that nobody changed
    length = last - first
    whole = before[np.maximum(first - 1, 0)] & before[np.minimum(last, before.size - 1)]
    keep = (length >= LONG_RUN) | (whole & ((length >= SHORT_RUN) | (length == data.size)))
    delta = np.zeros(before.size + 1, np.int8)
    delta[first[keep]], delta[last[keep]] = 1, -1
    written[start:stop] = np.cumsum(delta[:-1], dtype=np.int8)[16 : stop - start + 16] == 0


def _has_whole_words(same: Flags) -> bool:
    """Whether four aligned bytes are the same anywhere: a cheap look that spares the exact one."""
    words = same[: same.size // 4 * 4].view(np.uint32)
    return bool((words == 0x01010101).any())


def drawing(data: Bytes, written: Flags | None, offset: int, most: int = 16) -> tuple[Any, ...]:
    """The bytes of the aligned row around `offset`, None where nothing was written."""
    start = offset - offset % most
    row = range(start, min(start + most, data.size))
    return tuple(int(data[i]) if written is None or written[i] else None for i in row)

"""Where in shared memory each buffer lies: buffers whose lifetimes overlap lie apart, others may
share bytes.

A lifetime is an interval of positions, the order in which operations were lowered. A buffer that is
older than a loop and used in it lives until the loop ends. Invariant: whoever writes a buffer first
waits (a barrier) for the readers of what lay there before.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Buffer:
    """A name for its byte offset, its size, and the first and last position it is needed at."""

    name: str
    size: int
    alignment: int
    first: int
    last: int
    offset: int = 0


class Plan:
    """Collects buffers while a kernel is lowered."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.loops: list[tuple[int, int]] = []  # positions of the first and last operation inside

    def add(self, size: int, alignment: int, first: int, last: int) -> Buffer:
        """A new buffer."""
        made = Buffer(f"%shared{len(self.buffers)}", size, alignment, first, last)
        self.buffers.append(made)
        return made

    def place(self) -> int:
        """Gives every buffer its offset; the bytes that all of them take."""
        for buffer in self.buffers:
            for start, end in self.loops:
                if buffer.first < start <= buffer.last:
                    buffer.last = max(buffer.last, end)
        placed: list[Buffer] = []
        for buffer in sorted(self.buffers, key=lambda b: (-b.size, b.first)):
            buffer.offset = _gap(buffer, placed)
            placed.append(buffer)
        return max((b.offset + b.size for b in self.buffers), default=0)


def _gap(buffer: Buffer, placed: list[Buffer]) -> int:
    """The lowest place that no buffer of an overlapping lifetime takes."""
    taken = sorted(
        (b.offset, b.offset + b.size)
        for b in placed
        if b.first <= buffer.last and buffer.first <= b.last
    )
    start = 0
    for low, high in taken:
        if start + buffer.size <= low:
            break
        start = max(start, -(-high // buffer.alignment) * buffer.alignment)
    return start


__all__ = ["Buffer", "Plan"]

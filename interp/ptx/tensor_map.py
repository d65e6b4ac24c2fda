"""Tensor maps as Python objects: what `cp.async.bulk.tensor` needs to know of an array.

A kernel's parameter has 128 bytes for one; here they hold a token, and the launch keeps the map. So
a map is found wherever a kernel has copied those bytes to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_MAGIC = b"blockstep-tmap\0\0"
BYTES = 128


@dataclass(frozen=True, slots=True, eq=False)
class TensorMap:
    """How a map sees `array`. Everything from the innermost dimension (stride 1) outwards.

    `address` is of the first element, `strides` are bytes of the dimensions but the innermost,
    `box` and `shape` elements, `swizzle` 0, 32, 64 or 128 bytes; `fill` is the byte pattern of
    elements outside (None: zeros)."""

    array: Any
    address: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    fill: bytes | None = None

    def token(self, number: int) -> bytes:
        """The 128 bytes that stand for the map in a parameter."""
        return (_MAGIC + number.to_bytes(8, "little")).ljust(BYTES, b"\0")


def number_in(bits: bytes) -> int | None:
    """Which map of the launch a token stands for; None for other bytes."""
    if not bits.startswith(_MAGIC):
        return None
    return int.from_bytes(bits[len(_MAGIC) : len(_MAGIC) + 8], "little")

"""Tensor maps as Python objects: what `cp.async.bulk.tensor` needs to know of an array.

A kernel's parameter has 128 bytes for one; here they hold a token, and the launch keeps the map. So
a map is found wherever a kernel has copied those bytes to. What a kernel puts together itself, by
`tensormap.replace`, are fields at places of this machine's own choice (`FIELDS`), with a word that says
which of them were written; it begins from zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.registry import WIDTH

_MAGIC = b"blockstep-tmap\0\0"
BYTES = 128
AXES = 5
WRITTEN = 8  # where the word is that says what was written
# By field: where its first value is, how many bytes each has, how many there are, and the bit of the
# first in that word.
FIELDS: dict[str, tuple[int, int, int, int]] = {
    "global_address": (0, 8, 1, 0), "rank": (12, 4, 1, 1), "elemtype": (16, 4, 1, 2),
    "interleave_layout": (20, 4, 1, 3), "swizzle_mode": (24, 4, 1, 4), "fill_mode": (28, 4, 1, 5),
    "box_dim": (32, 4, AXES, 6), "global_dim": (52, 4, AXES, 11),
    "element_stride": (72, 4, AXES, 16), "global_stride": (96, 8, AXES - 1, 21),
}  # fmt: skip
_KINDS = {
    0: "u8", 1: "u16", 2: "u32", 3: "s32", 4: "u64", 5: "s64", 6: "f16", 7: "f32", 9: "f64",
    10: "bf16", 11: "tf32",
}  # fmt: skip
_NANS = {
    6: b"\x00\x7e", 7: b"\x00\x00\xc0\x7f", 9: b"\x00\x00\x00\x00\x00\x00\xf8\x7f",
    10: b"\xc0\x7f", 11: b"\x00\x00\xc0\x7f",
}  # fmt: skip
_SWIZZLES = {0: 0, 1: 32, 2: 64, 3: 128}
_WIDEST = 256  # elements of a box along one axis
_ALIGNMENT = 16  # bytes, of the address and of the strides


@dataclass(frozen=True, slots=True, eq=False)
class TensorMap:
    """How a map sees `array`. Everything from the innermost dimension (stride 1) outwards.

    `address` is of the first element, `strides` are bytes of the dimensions but the innermost,
    `box` and `shape` elements, `swizzle` 0, 32, 64 or 128 bytes; `fill` is the byte pattern of
    elements outside (None: zeros); `kind` is the type of the elements, for those that reductions
    take. One that the kernel made knows no array."""

    array: Any
    address: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    fill: bytes | None = None
    kind: str = ""

    def token(self, number: int) -> bytes:
        """The 128 bytes that stand for the map in a parameter."""
        return (_MAGIC + number.to_bytes(8, "little")).ljust(BYTES, b"\0")


def number_in(bits: bytes) -> int | None:
    """Which map of the launch a token stands for; None for other bytes."""
    if not bits.startswith(_MAGIC):
        return None
    return int.from_bytes(bits[len(_MAGIC) : len(_MAGIC) + 8], "little")


class Incomplete(Exception):
    """Bytes that are no map: what is missing, or what the hardware does not take."""


def made_of(bits: bytes) -> TensorMap:
    """The map that a kernel put together. Raises Incomplete."""
    written = int.from_bytes(bits[WRITTEN : WRITTEN + 4], "little")
    rank = _one(bits, written, "rank") + 1
    if not 1 <= rank <= AXES:
        raise Incomplete(f"{rank} axes")
    kind = _one(bits, written, "elemtype")
    if kind not in _KINDS:
        raise Incomplete(f"elements of the kind {kind}")
    size = WIDTH[_KINDS[kind]] // 8
    address = _one(bits, written, "global_address")
    box = tuple(_several(bits, written, "box_dim", rank))
    lengths = tuple(n or 1 << 32 for n in _several(bits, written, "global_dim", rank))
    strides = tuple(_several(bits, written, "global_stride", rank - 1))
    if any(n != 1 for n in _several(bits, written, "element_stride", rank)):
        raise Incomplete("steps over elements")
    if any(not 1 <= n <= _WIDEST for n in box):
        raise Incomplete(f"a box of {box} elements")
    if address % _ALIGNMENT or any(s % _ALIGNMENT for s in strides):
        raise Incomplete(f"an address or a stride that is no multiple of {_ALIGNMENT} bytes")
    if _raw(bits, "interleave_layout", 0) or _raw(bits, "swizzle_mode", 0) not in _SWIZZLES:
        raise Incomplete("an interleaved or unknown arrangement")
    swizzle = _SWIZZLES[_raw(bits, "swizzle_mode", 0)]
    if swizzle and box[0] * size > swizzle:
        raise Incomplete(f"rows of {box[0] * size} bytes and a swizzle of {swizzle}")
    fill = _NANS.get(kind) if _raw(bits, "fill_mode", 0) else None
    return TensorMap(None, address, size, lengths, strides, box, swizzle, fill, _KINDS[kind])


def _raw(bits: bytes, name: str, index: int) -> int:
    start, size, _, _ = FIELDS[name]
    return int.from_bytes(bits[start + index * size :][:size], "little")


def _one(bits: bytes, written: int, name: str) -> int:
    return next(_several(bits, written, name, 1))


def _several(bits: bytes, written: int, name: str, count: int) -> Iterator[int]:
    for index in range(count):
        if not written >> (FIELDS[name][3] + index) & 1:
            raise Incomplete(f"no {name}" + (f" of axis {index}" if FIELDS[name][2] > 1 else ""))
        yield _raw(bits, name, index)


class Made:
    """The maps that the kernels of a batch made in global memory: by address, the CTAs whose fence
    has let the engine see what is there now."""

    def __init__(self) -> None:
        self.seen_by: dict[int, set[int]] = {}
        self._known: dict[bytes, TensorMap] = {}

    @staticmethod
    def of(batch: Any) -> Made:
        """Those of a batch."""
        found: Made = batch.state.setdefault("tensor maps", Made())
        return found

    def released(self, address: int) -> None:
        """A map was written there, and no fence has looked at it since."""
        self.seen_by[address] = set()

    def acquired(self, address: int, ctas: Any) -> None:
        """Threads of these CTAs looked at it by a fence."""
        if address in self.seen_by:
            self.seen_by[address] |= {int(cta) for cta in np.unique(ctas)}

    def map(self, bits: bytes) -> TensorMap:
        """The map in some bytes. Raises Incomplete."""
        found = self._known.get(bits)
        if found is None:
            found = self._known[bits] = made_of(bits)
        return found

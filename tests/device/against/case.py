"""What one comparison is: a kernel, its buffers, and how much the results may differ.

Nothing here knows which implementation of the language runs: `run.py` does, and gives each case the
same bits whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Random = np.random.Generator

STORED: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
        "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64,
        "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
    }.items()
}  # fmt: skip
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("fp16", "bf16", "fp32", "fp64")
SHORT_FLOATS = ("fp8e4nv", "fp8e5")


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a kernel gets: `make` fills it, or the poison of the run does (`make` is None).
    `compared` says whether what it holds after the launch counts."""

    kind: str
    shape: tuple[int, ...]
    make: Callable[[Random], Any] | None = None
    compared: bool = True


def given(kind: str, shape: tuple[int, ...] | int, make: Callable[[Random], Any]) -> Buffer:
    """An input."""
    return Buffer(kind, (shape,) if isinstance(shape, int) else shape, make, compared=False)


def changed(kind: str, shape: tuple[int, ...] | int, make: Callable[[Random], Any]) -> Buffer:
    """Read and written."""
    return Buffer(kind, (shape,) if isinstance(shape, int) else shape, make)


def out(kind: str, *shape: int) -> Buffer:
    """An output, poisoned."""
    return Buffer(kind, shape or (1,))


@dataclass(frozen=True, slots=True)
class Case:
    """One launch. `rule`: "bits" (equal bits, every NaN equal to every NaN), "ulps" (at most `limit`
    units in the last place apart, subnormal float32 numbers aside), "sorted" (equal bits in some
    order), "absolute" (`limit` of the second-last buffer's elements: an error bound worked out by the
    case), "recorded" (nothing is asked)."""

    group: str
    name: str
    kernel: Any
    buffers: Sequence[Buffer]
    constants: dict[str, Any] = field(default_factory=dict)
    scalars: tuple[Any, ...] = ()
    grid: tuple[int, ...] = (1,)
    rule: str = "bits"
    limit: float = 0
    wrap: Callable[[list[Any]], list[Any]] | None = None
    bound: Callable[[list[Array]], Any] | None = None

    @property
    def key(self) -> str:
        return f"{self.group}/{self.name}"


def edges(kind: str) -> Array:
    """The numbers at which formats and operations change their ways."""
    if kind == "i1":
        return np.array([False, True])
    stored = STORED[kind]
    if stored.kind in "iu":
        info = np.iinfo(stored)
        near = [info.min, info.min + 1, max(info.min, -7), 0, 1, 2, 7, info.max - 1, info.max]
        return np.array(sorted({*near, max(info.min, -1), info.max // 2 + 1}), stored)
    limits = ml_dtypes.finfo(stored)
    tiny, least = float(limits.tiny), float(limits.smallest_subnormal)
    positive = [0, 1, 0.5, 1.5, 3, 448, float(limits.max), tiny, least, tiny - least, np.inf]
    with np.errstate(all="ignore"):
        values = np.array([*positive, *(-v for v in positive), np.nan, 1 + float(limits.eps)])
        return values.astype(stored)


def spread(kind: str, count: int) -> Callable[[Random], Any]:
    """Edges, any bit pattern, and numbers of ordinary size, in a random order."""

    def make(random: Random) -> Any:
        return random.permutation(_mixture(kind, count, random))

    return make


def _mixture(kind: str, count: int, random: Random) -> Any:
    stored, first = STORED[kind], edges(kind)
    if kind == "i1":
        return random.integers(0, 2, count).astype(bool)
    rest = count - len(first)
    patterns = random.bytes(rest // 2 * stored.itemsize)
    with np.errstate(all="ignore"):
        ordinary = (random.standard_normal(rest - rest // 2) * 20).astype(stored)
    return np.concatenate([first, np.frombuffer(patterns, stored), ordinary])


def crossed(left: str, right: str, count: int, **avoid: bool) -> list[Callable[[Random], Any]]:
    """Two fills such that every pair of edges is among the first elements."""
    a, b = edges(left), edges(right)
    pairs = len(a) * len(b)
    assert pairs <= count

    def one(values: Any, kind: str) -> Callable[[Random], Any]:
        def make(random: Random) -> Any:
            fill = spread(kind, count)(random)
            fill[:pairs] = values
            return fill

        return make

    return [one(np.repeat(a, len(b)), left), one(np.tile(b, len(a)), right)]


def numbers(kind: str, low: int, high: int, *shape: int) -> Callable[[Random], Any]:
    """Whole numbers in low..high, so that sums and products of a few are exact."""
    return lambda random: random.integers(low, high + 1, shape).astype(STORED[kind])


def normal(kind: str, *shape: int, scale: float = 1.0) -> Callable[[Random], Any]:
    """Normally distributed numbers."""
    return lambda random: (random.standard_normal(shape) * scale).astype(STORED[kind])

"""Register bits seen as numbers, and pairs of halves taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.registry import Bits
from blockstep.interp.ptx.isa.trace import by_halves, tracing

UNSIGNED = frozenset({"u8", "u16", "u32", "u64"})
SIGNED = frozenset({"s8", "s16", "s32", "s64"})
HALVES = frozenset({"u16x2", "s16x2"})
INTEGERS = UNSIGNED | SIGNED | HALVES
FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2"})

Binary = Callable[..., Any]


def number(type: str) -> np.dtype[Any]:
    """The dtype of an integer register seen as a number: `s32` → int32, `b32` → uint32."""
    return np.dtype(("int" if type[0] == "s" else "uint") + type[1:])


def seen(type: str, compute: Binary) -> Binary:
    """A function of numbers, as a function of bits of the same width."""
    if type[0] != "s":
        return compute
    to, back = number(type), np.dtype("uint" + type[1:])
    return lambda *x: compute(*(v.view(to) for v in x)).view(back)


def apart(type: str) -> str:
    """The type of one half: `f16x2` → `f16`."""
    return type.removesuffix("x2")


def halved(part: str, compute: Binary) -> Binary:
    """A function of halves, as one of registers that hold two: both are computed at once.

    The halves of a register lie next to each other in memory, the lower first."""
    width = int(part.lstrip("bfsu"))
    half, whole = np.dtype(f"uint{width}"), np.dtype(f"uint{2 * width}")

    def both(*registers: Bits) -> Any:
        if tracing(*registers):
            return by_halves(compute, half, whole, *registers)
        shape = np.broadcast_shapes(*(x.shape for x in registers))
        halves = [_flat(x, shape).view(half) for x in registers]
        return np.ascontiguousarray(compute(*halves)).view(whole)

    return both


def _flat(x: Bits, shape: tuple[int, ...]) -> Bits:
    return np.ascontiguousarray(x if x.shape == shape else np.broadcast_to(x, shape))

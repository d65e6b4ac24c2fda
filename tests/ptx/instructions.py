"""Instructions from their text, run on bits: what the tests of `interp/ptx/isa` share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from blockstep.interp.ptx.isa.registry import (
    WIDTH,
    Form,
    Instruction,
    form,
    unsigned,
)

TYPES = {*WIDTH, "pred", "u2", "s2", "u4", "s4"}


def written(name: str, sources: int = 2, results: int = 1) -> Instruction:
    """`opcode.modifiers` with so many operands; two results are a pair `d|p`."""
    opcode, *modifiers = name.split(".")
    destination: Any = "d" if results == 1 else tuple(f"d{k}" for k in range(results))
    return Instruction(
        opcode,
        tuple(modifiers),
        tuple(m for m in modifiers if m in TYPES),
        1,
        (destination, *(f"a{k}" for k in range(sources))),
    )


def run(name: str, *columns: Sequence[int], results: int = 1) -> Any:
    """The instruction on columns of integers (the bits of its sources): a list of integers, or one
    list for each result."""
    f = form(written(name, len(columns), results))
    return run_form(f, *columns)


def run_form(f: Form, *columns: Sequence[int]) -> Any:
    arrays = [
        np.array([v & mask(t) for v in c], unsigned(t))
        for t, c in zip(f.sources, columns, strict=True)
    ]
    with np.errstate(all="ignore"):
        got = f.compute(*arrays)
    several = isinstance(got, tuple)
    for value, type in zip(got if several else (got,), f.results, strict=True):
        assert value.dtype == unsigned(type), (value.dtype, type)
    return [g.tolist() for g in got] if several else got.tolist()


def mask(type: str) -> int:
    return 1 if type == "pred" else (1 << WIDTH[type]) - 1


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def seen(value: int, type: str) -> int:
    """The number that bits mean in an integer type."""
    width = WIDTH[type]
    return signed(value, width) if type[0] == "s" else value & ((1 << width) - 1)


def edges(width: int, count: int = 200, seed: int = 0) -> list[int]:
    """Bits of a width: all near the ends, the middle and powers of two, and random ones."""
    top = 1 << width
    chosen = {k % top for k in range(-3, 4)} | {top // 2 + k for k in (-2, -1, 0, 1, 2)}
    chosen |= {(1 << k) + d & top - 1 for k in range(width) for d in (-1, 0, 1)}
    random = np.random.default_rng(seed)
    chosen |= {int.from_bytes(random.bytes(width // 8), "little") for _ in range(count)}
    return sorted(chosen)


def pairs(width: int, count: int = 4000, seed: int = 1) -> tuple[list[int], list[int]]:
    """Two columns: every pair of few edges, and random pairs of all."""
    values = edges(width)
    few = edges(width, 0)[:: max(1, width // 8)]
    random = np.random.default_rng(seed)
    chosen = [(a, b) for a in few for b in few]
    at = random.integers(len(values), size=(count, 2))
    chosen += [(values[a], values[b]) for a, b in at]
    return [a for a, _ in chosen], [b for _, b in chosen]


# Floats as rationals: bits ↔ numbers of any binary format, rounded by searching, not by scaling.

FLOAT = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
NAN = "nan"
Number = Fraction | float | str


def parts(bits: int, type: str) -> tuple[int, int, int]:
    """Sign, exponent and fraction fields."""
    e, m = FLOAT[type]
    return bits >> (e + m), bits >> m & ((1 << e) - 1), bits & ((1 << m) - 1)


def is_nan(bits: int, type: str) -> bool:
    e, _ = FLOAT[type]
    _, exponent, fraction = parts(bits, type)
    return exponent == (1 << e) - 1 and fraction != 0


def is_inf(bits: int, type: str) -> bool:
    e, _ = FLOAT[type]
    _, exponent, fraction = parts(bits, type)
    return exponent == (1 << e) - 1 and fraction == 0


def exact(bits: int, type: str) -> Fraction:
    """The value of finite bits."""
    e, m = FLOAT[type]
    sign, exponent, fraction = parts(bits, type)
    least = 2 - (1 << (e - 1))
    power = least if exponent == 0 else exponent - (1 << (e - 1)) + 1
    whole = fraction if exponent == 0 else fraction + (1 << m)
    value = Fraction(whole) * Fraction(2) ** (power - m)
    return -value if sign else value


def rounded(x: Fraction, type: str, direction: str) -> int:
    """The bits of x ≠ 0 in a format: by bisection over the bits, which are in order."""
    e, m = FLOAT[type]
    size, sign = abs(x), int(x < 0) << (e + m)
    infinite = ((1 << e) - 1) << m
    low, high = 0, infinite  # exact(low) <= size < what comes next
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact(middle, type) <= size else (low, middle)
    below = exact(low, type)
    if below == size:
        return sign | low
    # What would come after the largest finite number stands for inf.
    above = exact(low + 1, type) if low + 1 < infinite else 2 * below - exact(low - 1, type)
    upward = {"rz": False, "rm": x < 0, "rp": x > 0}.get(direction)
    if upward is None:
        to_low, to_high = size - below, above - size
        upward = to_high < to_low or (to_high == to_low and (direction == "rna" or low % 2 == 1))
    return sign | (low + upward)


def column(values: Any, type: str) -> Any:
    """The bits of floats in f32 or f64."""
    kind = {"f32": np.float32, "f64": np.float64}[type]
    with np.errstate(all="ignore"):
        return np.array(values, kind).view(unsigned(type)).tolist()

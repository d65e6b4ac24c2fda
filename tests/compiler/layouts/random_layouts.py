"""Layouts to test with: tidy ones, random invertible ones, and ones with copies of every kind."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from blockstep.compiler.layouts import f2
from blockstep.ir import Layout

Array = npt.NDArray[np.int64]


def table(layout: Layout) -> Array:
    """The element of every holder, `cta warp lane register`, made by doubling."""
    elements = np.zeros(1, np.int64)
    for basis in layout.bases:
        elements = np.concatenate([elements, elements ^ basis])
    return elements.reshape(layout.num_ctas, layout.num_warps, 32, layout.per_lane)


def images(bases: tuple[int, ...]) -> Array:
    """The image of every number, made by doubling."""
    found = np.zeros(1, np.int64)
    for basis in bases:
        found = np.concatenate([found, found ^ basis])
    return found


@st.composite
def shapes(draw: Any, most: int = 7, axes: int = 3) -> tuple[int, ...]:
    """Up to `axes` axes and 2**most elements."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, axes))):
        bits = draw(st.integers(0, most))
        most -= bits
        shape.append(1 << bits)
    return tuple(shape)


@st.composite
def layouts(
    draw: Any,
    shape: tuple[int, ...] | None = None,
    warps: int | None = None,
    ctas: int | None = None,
) -> Layout:
    """Any layout of a block of up to 128 elements, or of `shape`."""
    shape = draw(shapes()) if shape is None else shape
    numel = prod(shape)
    warps = draw(st.integers(0, 2)) if warps is None else warps
    ctas = draw(st.integers(0, 1)) if ctas is None else ctas
    spread = 5 + warps + ctas
    needed = max(0, numel.bit_length() - 1 - spread)
    registers = draw(st.integers(needed, max(4, needed)))
    bases = draw(_bases(registers + spread, numel))
    lanes = registers + 5
    return Layout(
        shape,
        tuple(bases[:registers]),
        tuple(bases[registers:lanes]),
        tuple(bases[lanes : lanes + warps]),
        tuple(bases[lanes + warps :]),
    )


@st.composite
def _bases(draw: Any, count: int, numel: int) -> list[int]:
    units = [1 << bit for bit in range(numel.bit_length() - 1)]
    kind = draw(st.sampled_from(["tidy", "sparse", "dense"]))
    if kind == "tidy":
        return list(draw(st.permutations([*units, *[0] * (count - len(units))])))
    one = st.sampled_from([0, *units]) if kind == "sparse" else st.integers(0, numel - 1)
    bases: list[int] = draw(st.lists(one, min_size=count, max_size=count))
    for missing in f2.extend(bases, units):
        spare = set(range(count)) - set(f2.independent(bases))
        bases[draw(st.sampled_from(sorted(spare)))] ^= missing
    return bases


@st.composite
def pairs(draw: Any) -> tuple[Layout, Layout]:
    """Two layouts of one block that a conversion may lead between: mostly random, sometimes the
    second is the first with bits exchanged inside a lane or a warp."""
    first = draw(layouts())
    kind = draw(st.sampled_from(["any", "registers", "warp", "warp", "warp"]))
    if kind == "any":
        second = draw(layouts(first.shape, len(first.warps), 0))
        return Layout(first.shape, first.registers + first.ctas, first.lanes, first.warps), second
    inner = list(first.registers + first.lanes)
    count = len(first.registers) if kind == "registers" else len(inner)
    for _ in range(draw(st.integers(0, 8)) if count > 1 else 0):
        a, b = draw(st.permutations(range(count)))[:2]
        if draw(st.booleans()):
            inner[a], inner[b] = inner[b], inner[a]
        else:
            inner[a] ^= inner[b]
    cut = len(first.registers)
    copies = [0] * draw(st.integers(0, 1))
    moved = Layout(
        first.shape, (*inner[:cut], *copies), tuple(inner[cut:]), first.warps, first.ctas
    )
    return (first, moved) if draw(st.booleans()) else (moved, first)

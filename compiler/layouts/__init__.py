"""Layouts: algebra over F2, the layouts with a name, and conversions between them.

`Layout` itself is in blockstep/ir/layout.py. Here: `linear` (questions), `shapes` (operations that
move nothing), `named` (blocked layouts and fragments).
"""

from __future__ import annotations

from blockstep.compiler.layouts.linear import (
    Bits,
    Holders,
    Piece,
    axis_bits,
    compose,
    contiguous,
    divide,
    invert,
    placed,
    product,
    redundant,
    same,
)
from blockstep.compiler.layouts.named import (
    blocked,
    coalesced,
    mma_accumulator,
    mma_operand,
    scalar,
    wgmma_accumulator,
)
from blockstep.compiler.layouts.shapes import (
    broadcast,
    drop_axis,
    expand_dims,
    insert_axis,
    join,
    permute,
    reshape,
    slice_registers,
    split,
    split_registers,
)

__all__ = [
    "Bits",
    "Holders",
    "Piece",
    "axis_bits",
    "blocked",
    "broadcast",
    "coalesced",
    "compose",
    "contiguous",
    "divide",
    "drop_axis",
    "expand_dims",
    "insert_axis",
    "invert",
    "join",
    "mma_accumulator",
    "mma_operand",
    "permute",
    "placed",
    "product",
    "redundant",
    "reshape",
    "same",
    "scalar",
    "slice_registers",
    "split",
    "split_registers",
    "wgmma_accumulator",
]

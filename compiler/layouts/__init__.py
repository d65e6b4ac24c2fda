"""Layouts: algebra over F2, the layouts with a name, and conversions between them.

`Layout` itself is in blockstep/ir/layout.py. Here: `linear` (questions), `shapes` (operations that
move nothing), `named` (blocked layouts and fragments), `shared` and `swizzle` (shared memory),
`convert` and `shuffle` (from one layout to another), `draw` (text for a terminal).
"""

from __future__ import annotations

from blockstep.compiler.layouts.convert import Conversion, Nothing, Registers, Shared, plan
from blockstep.compiler.layouts.draw import draw, draw_shared
from blockstep.compiler.layouts.linear import (
    Bits,
    ByLane,
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
from blockstep.compiler.layouts.shared import (
    Access,
    SharedLayout,
    accesses,
    bank_conflicts,
    lane_addresses,
    row_major,
    swizzle_128b,
    swizzled,
    widest,
)
from blockstep.compiler.layouts.shuffle import Round, Shuffle
from blockstep.compiler.layouts.swizzle import optimal_swizzle

__all__ = [
    "Access",
    "Bits",
    "ByLane",
    "Conversion",
    "Holders",
    "Nothing",
    "Piece",
    "Registers",
    "Round",
    "Shared",
    "SharedLayout",
    "Shuffle",
    "accesses",
    "axis_bits",
    "bank_conflicts",
    "blocked",
    "broadcast",
    "coalesced",
    "compose",
    "contiguous",
    "divide",
    "draw",
    "draw_shared",
    "drop_axis",
    "expand_dims",
    "insert_axis",
    "invert",
    "join",
    "lane_addresses",
    "mma_accumulator",
    "mma_operand",
    "optimal_swizzle",
    "permute",
    "placed",
    "plan",
    "product",
    "redundant",
    "reshape",
    "row_major",
    "same",
    "scalar",
    "slice_registers",
    "split",
    "split_registers",
    "swizzle_128b",
    "swizzled",
    "wgmma_accumulator",
    "widest",
]

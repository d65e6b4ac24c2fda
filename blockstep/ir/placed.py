"""Operations that exist only in placed IR, where every block value has a layout.

They move elements between holders (registers, lanes, warps, shared memory) and order those moves;
none changes a value, so each has a meaning, and a machine that knows no layouts runs placed IR too.
"""

from __future__ import annotations

from blockstep.language.op import Family, Op, same

CONVERT = Op(
    "convert",
    Family.SHAPE,
    same,
    lambda x: x,
    "`m n -> m n`: the same block in the layout of the result.",
)

PLACED: dict[str, Op] = {op.name: op for op in (CONVERT,)}

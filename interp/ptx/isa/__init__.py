"""The instructions of PTX 8.x that compute: registers in, registers out.

`lookup(instruction)` gives the function that computes one; nothing here knows threads, memory or
control flow, and nothing is shared with the language's meanings: the two sides must be able to
disagree.
"""

from blockstep.interp.ptx.isa import (
    approx,
    arith,
    floats,
)  # each file enters its own into the registry
from blockstep.interp.ptx.isa.registry import Form, Instruction, Unsupported, form, lookup

__all__ = ["Form", "Instruction", "Unsupported", "approx", "arith", "floats", "form", "lookup"]

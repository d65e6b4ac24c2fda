"""The instructions of PTX 8.x that compute: registers in, registers out.

`lookup(instruction)` gives the function that computes one; nothing here knows threads, memory or
control flow, and nothing is shared with the language's meanings: the two sides must be able to
disagree. Each file enters its instructions into the registry when it is loaded, here.
"""

from blockstep.interp.ptx.isa import approx, arith, compare, cvt, floats, logic, mma, moves
from blockstep.interp.ptx.isa.registry import Form, Instruction, Unsupported, form, lookup

__all__ = ["Form", "Instruction", "Unsupported", "form", "lookup"]
__all__ += ["approx", "arith", "compare", "cvt", "floats", "logic", "mma", "moves"]

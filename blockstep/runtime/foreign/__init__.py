"""Kernels compiled by the Triton that is installed, for the ptx machine to run.

`Triton.compile` gives the same `Binary` as our own compiler. The kernel is carried to a child
process by its source and by what it reads by name; no line of the user's script runs there.
"""

from blockstep.runtime.foreign.binary import binary_of
from blockstep.runtime.foreign.compiling import VARIABLE, Triton
from blockstep.runtime.foreign.failures import NoTriton, RefusedByTriton

__all__ = [
    "VARIABLE",
    "NoTriton",
    "RefusedByTriton",
    "Triton",
    "binary_of",
]

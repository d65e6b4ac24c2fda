"""Number formats and the arithmetic that NumPy lacks or rounds otherwise than an sm_90 GPU.

Everything works on arrays of any shape and on NumPy scalars. Submodules with functions by family:
`rounding` and `directed` (explicit rounding), `integers` (bit intrinsics), `elementary`, `special`
and `bessel` (real functions). Nothing here knows the language's values or types.
"""

from blockstep.language.numerics import (
    bessel,
    directed,
    elementary,
    integers,
    rounding,
    special,
)
from blockstep.language.numerics.convert import convert, converter, to_integer
from blockstep.language.numerics.elementary import in_double
from blockstep.language.numerics.formats import FORMATS, Format, format_of, format_of_storage
from blockstep.language.numerics.integers import mulhi
from blockstep.language.numerics.rounding import add, div, fma, mul, rcp, sqrt, sub
from blockstep.language.numerics.tensorcore import (
    dot,
    dot_scaled,
    e2m1,
    e8m0,
    scaled_operand,
    tf32,
    tf32_rna,
)

__all__ = [
    "FORMATS",
    "Format",
    "add",
    "bessel",
    "convert",
    "converter",
    "directed",
    "div",
    "dot",
    "dot_scaled",
    "e2m1",
    "e8m0",
    "elementary",
    "fma",
    "format_of",
    "format_of_storage",
    "in_double",
    "integers",
    "mul",
    "mulhi",
    "rcp",
    "rounding",
    "scaled_operand",
    "special",
    "sqrt",
    "sub",
    "tf32",
    "tf32_rna",
    "to_integer",
]

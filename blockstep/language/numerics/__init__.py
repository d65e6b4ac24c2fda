"""Number formats and the arithmetic that NumPy lacks or rounds otherwise than an sm_90 GPU."""

from blockstep.language.numerics.convert import convert, converter, to_integer
from blockstep.language.numerics.formats import FORMATS, Format, format_of, format_of_storage
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
    "convert",
    "converter",
    "div",
    "dot",
    "dot_scaled",
    "e2m1",
    "e8m0",
    "fma",
    "format_of",
    "format_of_storage",
    "mul",
    "rcp",
    "scaled_operand",
    "sqrt",
    "sub",
    "tf32",
    "tf32_rna",
    "to_integer",
]

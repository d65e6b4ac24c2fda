"""Block IR: a kernel as typed values in SSA form with structured control flow."""

from blockstep.ir.core import Function, Location, Operation, Region, Value
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.ir.malformed import Malformed
from blockstep.ir.parse import ParseError, parse
from blockstep.ir.placed import (
    ASYNC_COMMIT,
    ASYNC_COPY,
    ASYNC_WAIT,
    CONVERT,
    DOT_WAIT,
    PHASE_WAIT,
    PHASES,
    PHASES_END,
    PLACED,
    RING,
    SLOT,
    TENSOR_COPY,
    TENSOR_MAP,
    TENSOR_REDUCE,
    TENSOR_STORE,
)
from blockstep.ir.structure import (
    CALL,
    CONDITION,
    FOR,
    IF,
    RETURN,
    STRUCTURE,
    TERMINATORS,
    WHILE,
    YIELD,
)
from blockstep.ir.text import Names, dump, names_of
from blockstep.ir.verify import verify

__all__ = [
    "ASYNC_COMMIT",
    "ASYNC_COPY",
    "ASYNC_WAIT",
    "CALL",
    "CONDITION",
    "CONVERT",
    "DOT_WAIT",
    "FOR",
    "IF",
    "PHASES",
    "PHASES_END",
    "PHASE_WAIT",
    "PLACED",
    "RETURN",
    "RING",
    "SLOT",
    "STRUCTURE",
    "TENSOR_COPY",
    "TENSOR_MAP",
    "TENSOR_REDUCE",
    "TENSOR_STORE",
    "TERMINATORS",
    "WHILE",
    "YIELD",
    "Function",
    "Layout",
    "Location",
    "Malformed",
    "Names",
    "Operation",
    "ParseError",
    "Region",
    "SharedLayout",
    "Value",
    "dump",
    "names_of",
    "parse",
    "verify",
]

"""Lowering: placed IR to LLVM IR, a file for each family of operations."""

from blockstep.compiler.lower import (
    asynchronous,
    atomics,
    box,
    cast,
    control,
    creation,
    dot,
    elementwise,
    libdevice,
    math,
    memory,
    random,
    reduce,
    shape,
)
from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered
from blockstep.compiler.lower.module import Module, Parameter, lower
from blockstep.compiler.lower.options import Options

__all__ = [
    "LOWERINGS", "RULES", "Lowering", "Module", "Options", "Parameter", "Unlowered", "asynchronous",
    "atomics", "box", "cast", "control", "creation", "dot", "elementwise", "libdevice", "lower",
    "math", "memory", "random", "reduce", "shape",
]  # fmt: skip

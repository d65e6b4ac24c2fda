"""Lowering: placed IR to LLVM IR, a file for each family of operations."""

from blockstep.compiler.lower import (
    asynchronous,
    cast,
    control,
    creation,
    dot,
    elementwise,
    gather,
    math,
    memory,
    moving,
    reduce,
    scan,
    shape,
    tensor_copy,
)
from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered
from blockstep.compiler.lower.module import Module, Parameter, lower
from blockstep.compiler.lower.options import Options

__all__ = [
    "LOWERINGS", "RULES", "Lowering", "Module", "Options", "Parameter", "Unlowered",
    "asynchronous", "cast", "control", "creation", "dot", "elementwise", "gather", "lower", "math",
    "memory", "moving", "reduce", "scan", "shape", "tensor_copy",
]  # fmt: skip

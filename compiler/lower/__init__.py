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
    gather,
    libdevice,
    math,
    memory,
    moving,
    random,
    reduce,
    scan,
    shape,
    tensor_copy,
)
from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered
from blockstep.compiler.lower.module import Module, Parameter, lower
from blockstep.compiler.lower.options import Options

__all__ = [
    "LOWERINGS",
    "Lowering",
    "Module",
    "Options",
    "Parameter",
    "RULES",
    "Unlowered",
    "asynchronous",
    "atomics",
    "box",
    "cast",
    "control",
    "creation",
    "dot",
    "elementwise",
    "gather",
    "libdevice",
    "lower",
    "math",
    "memory",
    "moving",
    "random",
    "reduce",
    "scan",
    "shape",
    "tensor_copy",
]

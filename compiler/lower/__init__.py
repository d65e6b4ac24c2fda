"""Lowering: placed IR to LLVM IR, a file for each family of operations."""

from blockstep.compiler.lower import (
    assembly,
    asserts,
    asynchronous,
    atomics,
    box,
    cast,
    control,
    creation,
    device,
    dot,
    elementwise,
    libdevice,
    math,
    memory,
    printing,
    random,
    reduce,
    shape,
)
from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered
from blockstep.compiler.lower.module import Module, Parameter, lower
from blockstep.compiler.lower.options import Options

__all__ = [
    "LOWERINGS", "RULES", "Lowering", "Module", "Options", "Parameter", "Unlowered", "assembly",
    "asserts", "asynchronous", "atomics", "box", "cast", "control", "creation", "device", "dot",
    "elementwise", "libdevice", "lower", "math", "memory", "printing", "random", "reduce", "shape",
]  # fmt: skip

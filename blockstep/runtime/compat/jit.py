"""`triton.runtime.jit`: the jit function and what stands beside it."""

from __future__ import annotations

from typing import Any, TypeVar

from blockstep import knobs
from blockstep.language.interface import KernelInterface
from blockstep.runtime.compat.driver import driver
from blockstep.runtime.compat.forward import lookup
from blockstep.runtime.compat.utils import type_canonicalisation_dict
from blockstep.runtime.wrapper import MockTensor, TensorWrapper, reinterpret

__all__ = [
    "KernelInterface", "MockTensor", "T", "TensorWrapper", "driver", "get_jit_fn_file_line",
    "knobs", "reinterpret", "type_canonicalisation_dict",
]  # fmt: skip

T = TypeVar("T")

__getattr__ = lookup(
    "triton.runtime.jit",
    [
        "blockstep.language.function",
        "blockstep.runtime.arguments",
        "blockstep.runtime.launch",
        "blockstep",
    ],
)


def get_jit_fn_file_line(fn: Any) -> tuple[str, int]:
    """File and line of the `def` of a jit function, under any decorators."""
    while not hasattr(fn, "__code__"):
        fn = fn.fn
    code = fn.__code__
    return code.co_filename, code.co_firstlineno

"""The package `triton` itself, as release 3.6.0 shows it; every name is blockstep's.

It is loaded under the name `triton` by `blockstep.runtime.redirect`. Its submodules are the table
there.
"""

from __future__ import annotations

import importlib
from typing import Any

from blockstep import (
    Config,
    JITFunction,
    autotune,
    cdiv,
    constexpr_function,
    heuristics,
    jit,
    next_power_of_2,
)
from blockstep.errors import CompilationError, InterpreterError, OutOfResources, TritonError
from blockstep.language import core
from blockstep.language.interface import KernelInterface
from blockstep.runtime.compat.allocation import set_allocator
from blockstep.runtime.compat.async_compile import AsyncCompileMode, FutureKernel
from blockstep.runtime.compat.compiler import compile
from blockstep.runtime.wrapper import MockTensor, TensorWrapper, reinterpret

__version__ = "3.6.0"

SHOWN = ("language", "runtime", "testing", "tools")
LOADED = (
    *SHOWN, "_C.libtriton", "_utils", "backends.compiler", "backends.driver",
    "backends.nvidia.compiler", "backends.nvidia.driver", "compiler.compiler", "compiler.errors",
    "errors", "knobs", "language.core", "language.math", "language.random", "language.standard",
    "runtime._allocation", "runtime._async_compile", "runtime.autotuner", "runtime.build",
    "runtime.cache", "runtime.driver", "runtime.errors", "runtime.jit",
)  # fmt: skip
"""Submodules that are there once `triton` is imported, as with Triton:
`triton.runtime.jit.JITFunction`."""

OF_THE_LANGUAGE = {"aggregate": "_aggregate", "must_use_result": "must_use_result"}

__all__ = [
    "AsyncCompileMode",
    "CompilationError",
    "Config",
    "FutureKernel",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "heuristics",
    "jit",
    "next_power_of_2",
    "reinterpret",
    "set_allocator",
]
__all__.extend([*SHOWN, *OF_THE_LANGUAGE])


def __getattr__(name: str) -> Any:
    if name in OF_THE_LANGUAGE:
        return getattr(core, OF_THE_LANGUAGE[name])
    text = f"module 'triton' has no attribute {name!r} (this is blockstep, as Triton {__version__})"
    raise AttributeError(text)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if __name__ == "triton":
    for _name in LOADED:
        importlib.import_module(f"triton.{_name}")

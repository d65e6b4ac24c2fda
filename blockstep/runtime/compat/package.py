"""The package `triton` itself, as release 3.6.0 shows it; every name is blockstep's.

It is loaded under the name `triton` by `blockstep.runtime.redirect`. Its submodules are the table there.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "3.6.0"

__all__ = [
    "AsyncCompileMode", "CompilationError", "Config", "FutureKernel", "InterpreterError", "JITFunction",
    "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper", "TritonError", "aggregate", "autotune",
    "cdiv", "compile", "constexpr_function", "heuristics", "jit", "language", "must_use_result",
    "next_power_of_2", "reinterpret", "runtime", "set_allocator", "testing", "tools",
]  # fmt: skip

SUBMODULES = frozenset({"backends", "compiler", "errors", "knobs", "language", "runtime", "testing", "tools"})
SOURCES = {
    "AsyncCompileMode": "blockstep.runtime.compat.async_compile",
    "FutureKernel": "blockstep.runtime.compat.async_compile",
    "compile": "blockstep.runtime.compat.compiler",
    "set_allocator": "blockstep.runtime.compat.allocation",
    **dict.fromkeys(("Config", "autotune", "heuristics"), "blockstep.runtime.autotune"),
    **dict.fromkeys(("MockTensor", "TensorWrapper", "reinterpret"), "blockstep.runtime.wrapper"),
    **dict.fromkeys(
        ("CompilationError", "InterpreterError", "OutOfResources", "TritonError"), "blockstep.errors"
    ),
    "KernelInterface": "blockstep.language.interface",
}


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return importlib.import_module(f"triton.{name}")
    if name in __all__:
        value = getattr(importlib.import_module(SOURCES.get(name, "blockstep")), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'triton' has no attribute {name!r} (this is blockstep, as Triton {__version__})")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""blockstep: run, judge, step through and check GPU block kernels, with or without a GPU.

    import blockstep as triton
    import blockstep.language as tl

`@triton.jit` makes a kernel, `kernel[grid](...)` launches it; `with blockstep.check() as report:`
judges what is launched inside.
"""

from blockstep import language, runtime, testing, tools
from blockstep.errors import CompilationError, InterpreterError, OutOfResources, TritonError
from blockstep.language.declared import aggregate, must_use_result
from blockstep.language.function import JITFunction, constexpr_function, jit
from blockstep.language.host import cdiv, next_power_of_2
from blockstep.language.interface import KernelInterface
from blockstep.runtime import launch as _launch  # noqa: F401 (registers itself: kernels run)
from blockstep.runtime.autotune import Config, autotune, heuristics
from blockstep.runtime.checking import check
from blockstep.runtime.compat.allocation import set_allocator
from blockstep.runtime.compat.async_compile import AsyncCompileMode, FutureKernel
from blockstep.runtime.compat.compiler import compile
from blockstep.runtime.debugging import debug, post_mortem
from blockstep.runtime.redirect import install, uninstall
from blockstep.runtime.session import machine
from blockstep.runtime.verifying import compare_formats, precision, verify
from blockstep.runtime.wrapper import MockTensor, TensorWrapper, reinterpret

__version__ = "0.1.0"

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
    "aggregate",
    "autotune",
    "cdiv",
    "check",
    "compare_formats",
    "compile",
    "constexpr_function",
    "debug",
    "heuristics",
    "install",
    "jit",
    "language",
    "machine",
    "must_use_result",
    "next_power_of_2",
    "post_mortem",
    "precision",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
    "uninstall",
    "verify",
]

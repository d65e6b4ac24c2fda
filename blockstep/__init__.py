"""blockstep: run, judge, step through and check GPU block kernels, with or without a GPU.

    import blockstep as triton
    import blockstep.language as tl

`@triton.jit` makes a kernel, `kernel[grid](...)` launches it; `with blockstep.check() as report:`
judges what is launched inside.
"""

from blockstep import language, testing, tools
from blockstep.language.function import JITFunction, constexpr_function, jit
from blockstep.language.host import next_power_of_2
from blockstep.language.standard import cdiv
from blockstep.runtime import launch as _launch
from blockstep.runtime.autotune import Config, autotune, heuristics
from blockstep.runtime.checking import check
from blockstep.runtime.redirect import install, uninstall
from blockstep.runtime.session import machine

__version__ = "0.1.0"

__all__ = [
    "Config",
    "JITFunction",
    "autotune",
    "cdiv",
    "check",
    "constexpr_function",
    "heuristics",
    "install",
    "jit",
    "language",
    "machine",
    "next_power_of_2",
    "testing",
    "tools",
    "uninstall",
]

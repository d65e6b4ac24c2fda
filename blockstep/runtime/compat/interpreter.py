"""`triton.runtime.interpreter`: Triton's own interpreter, which blockstep takes the place of.

An interpreted function is our jit function. The builder and its handles have no counterpart: tools
that patch them need the real Triton, in a process of its own.
"""

from __future__ import annotations

from typing import Any

from blockstep.errors import InterpreterError
from blockstep.runtime.compat.forward import lookup

__all__ = ["InterpreterError"]

_find = lookup("triton.runtime.interpreter", [])


def __getattr__(name: str) -> Any:
    if name == "InterpretedFunction":
        from blockstep.language.function import JITFunction

        return JITFunction
    return _find(name)

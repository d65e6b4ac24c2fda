"""Which names of the host a kernel may read: the language's, modules, constexprs, debuggers'.

Triton's rule (`TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1` lifts it), and beyond it `breakpoint()` and
what a debugger's module provides.
"""

from __future__ import annotations

import builtins
import os
from types import ModuleType
from typing import Any

from blockstep.language.constant import constexpr

_SUPPORTED_BUILTINS = frozenset(
    {
        "len",
        "list",
        "range",
        "float",
        "int",
        "isinstance",
        "getattr",
        "hasattr",
        "print",
        "min",
        "max",
    }
)
DEBUGGERS = frozenset(
    {"pdb", "bdb", "ipdb", "pudb", "pdbpp", "debugpy", "pydevd", "IPython", "rich", "pprint"}
)


def is_supported_builtin(name: str) -> bool:
    """Whether kernels may call Python's builtin `name`."""
    return name in _SUPPORTED_BUILTINS or name == "breakpoint"


def is_our_object(value: Any) -> bool:
    """Whether the language itself provides `value`, or a debugger does."""
    if getattr(value, "__triton_builtin__", False) or getattr(value, "__triton_aggregate__", False):
        return True
    for module in (getattr(value, "__module__", None), type(value).__module__):
        if isinstance(module, str) and module.partition(".")[0] in (
            "blockstep",
            "triton",
            *DEBUGGERS,
        ):
            return True
    return False


def is_allowed_global(value: Any) -> bool:
    """Whether a kernel may read a global or captured variable that holds `value`."""
    return (
        value is None
        or type(value) is ModuleType
        or is_our_object(value)
        or (
            isinstance(value, type)
            and issubclass(value, builtins.tuple)
            and hasattr(value, "_fields")
        )
        or os.environ.get("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "").lower()
        in ("1", "true", "on", "yes", "y")
    )


def global_message(name: str) -> str:
    """Why a kernel may not read the global `name`, and what to write instead."""
    return (
        f"Cannot access global variable {name} from within @jit'ed function: only constexpr globals "
        f"can be read. Write `{name} = tl.constexpr(...)` (annotating it as constexpr is not "
        f"enough), pass it as an argument, or set TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1"
    )


def is_constexpr(value: Any) -> bool:
    """Whether a global is a `tl.constexpr(...)`, which a kernel sees as its plain value."""
    return isinstance(value, constexpr)

"""Launching kernels: arguments, machines, tuning, and everything that answers under the name `triton`.

The names of `triton.runtime` (`driver`, `Autotuner`, `JITFunction`, ...) resolve here too, when they are first
asked for, so that `import blockstep as triton` is enough for scripts that use them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from blockstep.runtime.compat import runtime

    if name not in runtime.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(runtime, name)

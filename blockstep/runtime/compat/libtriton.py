"""`triton._C.libtriton`: the part of Triton's native module that Python code outside Triton
imports.

There is no native module here. Reading the environment works; asking for an MLIR dialect fails
clearly.
"""

from __future__ import annotations

import os

from blockstep.knobs import getenv_bool
from blockstep.runtime.compat.forward import lookup

__all__ = ["get_cache_invalidating_env_vars", "getenv", "getenv_bool"]
__path__: list[str] = []

CACHE_INVALIDATING = (
    "DISABLE_PTXAS_OPT",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_F32_DEFAULT",
    "USE_IR_LOC",
)


def getenv(key: str, default: str | None = None) -> str | None:
    """The environment variable, or `default`."""
    return os.environ.get(key, default)


def get_cache_invalidating_env_vars() -> dict[str, str]:
    """The variables that are set and change what a compilation gives."""
    return {key: os.environ[key] for key in CACHE_INVALIDATING if key in os.environ}


__getattr__ = lookup("triton._C.libtriton", ["blockstep.runtime.arguments"])

"""`triton.runtime`."""

from __future__ import annotations

from blockstep.errors import InterpreterError, OutOfResources
from blockstep.language.function import JITFunction
from blockstep.language.interface import KernelInterface
from blockstep.runtime.autotune import Autotuner, Config, Heuristics, autotune, heuristics
from blockstep.runtime.compat.cache import RedisRemoteCacheBackend, RemoteCacheBackend
from blockstep.runtime.compat.driver import driver
from blockstep.runtime.wrapper import MockTensor, TensorWrapper, reinterpret

__all__ = [
    "Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface",
    "MockTensor", "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend",
    "TensorWrapper", "autotune", "driver", "heuristics", "reinterpret",
]  # fmt: skip
__path__: list[str] = []

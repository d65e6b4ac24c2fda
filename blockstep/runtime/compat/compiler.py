"""`triton.compiler` and `triton.compiler.compiler`: sources, backends, compiled kernels.

Sources can be made and hashed; `compile` reports what the language rejects, and generates no code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockstep.compiler.frontend import build
from blockstep.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedError,
    UnsupportedLanguageConstruct,
)
from blockstep.runtime.arguments import parse_type
from blockstep.runtime.compat.backend import BaseBackend, CUDABackend
from blockstep.runtime.compat.cache import get_cache_key, triton_key
from blockstep.runtime.compiled import CompiledKernel, LazyDict
from blockstep.runtime.launch_options import DEFAULTS
from blockstep.target import GPUTarget

__all__ = [
    "ASTSource", "BaseBackend", "CompilationError", "CompileTimeAssertionFailure", "CompiledKernel",
    "GPUTarget", "IRSource", "LazyDict", "UnsupportedLanguageConstruct", "compile", "get_cache_key",
    "make_backend", "triton_key",
]  # fmt: skip
__path__: list[str] = []


class ASTSource:
    """A jit function with the types and constants to compile it for."""

    ext = "ttir"

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, str],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Any] | None = None,
    ) -> None:
        self.fn = fn
        self.name = getattr(fn, "__name__", str(fn))
        self.signature = dict(signature)
        self.constants = {self._path(k): v for k, v in (constexprs or {}).items()}
        self.attrs = dict(attrs or {})

    def _path(self, key: Any) -> tuple[int, ...]:
        return (self.fn.arg_names.index(key),) if isinstance(key, str) else tuple(key)

    def hash(self) -> str:
        """What a cached result depends on in this source."""
        parts = (
            self.fn.cache_key,
            self.attrs,
            sorted(self.signature.items()),
            sorted(self.constants.items()),
        )
        return hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()


class IRSource:
    """A file of intermediate text."""

    def __init__(self, path: str, context: Any = None, backend: Any = None) -> None:
        self.path = path
        self.ext = Path(path).suffix[1:]
        self.src = Path(path).read_text()

    def hash(self) -> str:
        """What a cached result depends on in this source."""
        return hashlib.sha256(self.src.encode()).hexdigest()


def make_backend(target: GPUTarget) -> BaseBackend:
    """The backend that compiles for `target`."""
    if not CUDABackend.supports_target(target):
        raise UnsupportedError(f"unsupported: blockstep has no compiler for {target.backend}")
    return CUDABackend(target)


def compile(
    src: Any,
    target: GPUTarget | None = None,
    options: Mapping[str, Any] | None = None,
    _env_vars: Mapping[str, str] | None = None,
) -> CompiledKernel:
    """Check the source as a compiler's front end does; nothing is generated.

    Raises CompilationError, at the expression, for what the language rejects for these types and
    constants, and UnsupportedError for a source that is no jit function."""
    if not isinstance(src, ASTSource):
        raise UnsupportedError(
            f"unsupported: this version of blockstep reads jit functions, not {getattr(src, 'ext', src)}"
        )
    chosen = {**DEFAULTS, **(options or {})}
    constants = {
        src.fn.arg_names[path[0]]: v for path, v in src.constants.items() if len(path) == 1
    }
    types: dict[str, Any] = {}
    for name, text in src.signature.items():
        kind = parse_type(text)
        if name not in constants and kind is None:
            raise UnsupportedError(
                f"unsupported: a parameter of type {text!r} ({src.name}: {name})"
            )
        if name not in constants:
            types[name] = kind
    build(src.fn, types, constants)
    return CompiledKernel(src.fn, chosen, src.name, 32 * int(chosen["num_warps"]))

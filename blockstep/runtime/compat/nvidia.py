"""`triton.backends.nvidia`, with `.compiler` and `.driver`."""

from __future__ import annotations

from blockstep.runtime.compat.backend import (
    CUDABackend,
    CudaDriver,
    CUDAOptions,
    include_dirs,
    libcuda_dirs,
    library_dirs,
)

__all__ = [
    "CUDABackend",
    "CUDAOptions",
    "CudaDriver",
    "include_dirs",
    "libcuda_dirs",
    "library_dirs",
]
__path__: list[str] = []

"""`tl.target_info`: what a kernel may ask about the device that it is for.

The answer comes from the device profile in force (`blockstep.target`), never from this machine.
"""

from __future__ import annotations

from typing import Any

from blockstep.language.constant import unwrap
from blockstep.target import GPUTarget, current


def current_target() -> GPUTarget:
    """Backend, architecture and warp size."""
    return current().triple


def is_cuda() -> bool:
    """Whether the device is NVIDIA's."""
    return current().backend == "cuda"


def is_hip() -> bool:
    """Whether the device is AMD's."""
    return current().backend == "hip"


def is_hip_cdna3() -> bool:
    return current().arch == "gfx942"


def is_hip_cdna4() -> bool:
    return current().arch == "gfx950"


def cuda_capability_geq(major: Any, minor: Any = 0) -> bool:
    """Whether the device is NVIDIA's with at least this compute capability."""
    return is_cuda() and current().capability >= (unwrap(major), unwrap(minor))


_ASKED: tuple[Any, ...] = (
    current_target,
    is_cuda,
    is_hip,
    is_hip_cdna3,
    is_hip_cdna4,
    cuda_capability_geq,
)
for _function in _ASKED:
    _function.__triton_builtin__ = True

__all__ = [
    "cuda_capability_geq",
    "current_target",
    "is_cuda",
    "is_hip",
    "is_hip_cdna3",
    "is_hip_cdna4",
]

"""`triton.set_allocator`: where kernels that need scratch memory get it from.

The allocator is kept and never asked: the interpreting machines need no scratch memory, and the gpu
machine keeps its own (`runtime/gpu/scratch.py`), which streams and graphs do not share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Allocator = Callable[[int, int, Any], Any]


class NullAllocator:
    """The allocator of a process that set none: it refuses."""

    def __call__(self, size: int, alignment: int, stream: Any) -> Any:
        raise RuntimeError(
            "Kernel requires a runtime memory allocation, but no allocator was set. "
            "Use triton.set_allocator to specify an allocator."
        )


_NULL = NullAllocator()
_allocator: ContextVar[Allocator] = ContextVar("_allocator", default=_NULL)
_profile_allocator: ContextVar[Allocator] = ContextVar("_profile_allocator", default=_NULL)


def set_allocator(allocator: Allocator) -> None:
    """Use `allocator(size, alignment, stream)` for scratch memory from here on."""
    _allocator.set(allocator)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Use `allocator` for a profiler's memory; None for none."""
    _profile_allocator.set(_NULL if allocator is None else allocator)

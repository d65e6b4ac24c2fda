"""Small functions that host code and kernels share."""

from __future__ import annotations

from typing import Any

from blockstep.language.function import constexpr_function


@constexpr_function
def next_power_of_2(n: Any) -> Any:
    """The least power of two that is not below `n` (0 for 0)."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


@constexpr_function
def cdiv(x: Any, y: Any) -> Any:
    """The quotient of two numbers, rounded up; inside kernels `tl.cdiv` takes run-time values."""
    return (x + y - 1) // y

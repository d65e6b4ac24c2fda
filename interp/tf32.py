"""Matrix products that round float32 operands to tf32 although nobody asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockstep.diagnostics.source import tf32_by_default
from blockstep.findings import Span
from blockstep.language import numerics
from blockstep.language import types as ty


def may_lose(op: str, operand: ty.dtype, attributes: Any, span: Span | None) -> bool:
    """Whether an operation may round operands of a type to tf32 by default."""
    if op != "dot" or operand is not ty.float32 or attributes["precision"] != "tf32":
        return False
    return span is not None and tf32_by_default(span)


def losing(operands: Sequence[Any]) -> tuple[int, Any] | None:
    """The first of two float32 arrays of which elements lose bits in tf32, and which these are."""
    for place, data in enumerate(operands[:2]):
        lost = np.isfinite(data) & (np.asarray(numerics.tf32(data)) != data)
        if lost.any():
            return place, lost
    return None


__all__ = ["losing", "may_lose"]

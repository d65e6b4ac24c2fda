"""Tensor maps of placed IR: what the copy engine knows of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(slots=True, eq=False)
class Map:
    """What the copy engine knows of an array: by program, the address of its first element, and
    lengths and strides (elements) along each axis, (programs, rank)."""

    origin: Any  # the view that it lies in
    base: Any
    lengths: Any
    strides: Any

    @staticmethod
    def of(programs: int, rank: int, origin: Any) -> Map:
        """A map that no program has made yet."""
        lengths, strides = (np.zeros((programs, rank), np.int64) for _ in range(2))
        return Map(origin, np.zeros(programs, np.int64), lengths, strides)


__all__ = ["Map"]

"""`triton._C`: a package with one module."""

from __future__ import annotations

__path__: list[str] = []

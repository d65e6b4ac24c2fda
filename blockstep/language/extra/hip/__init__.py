"""`tl.extra.hip`: what only AMD devices have."""

from __future__ import annotations

from typing import Any

from blockstep.language.extra.cuda.utils import globaltimer
from blockstep.language.extra.hip import libdevice


def memrealtime() -> Any:
    """`->` int64: a real-time counter."""
    return globaltimer()


__all__ = ["libdevice", "memrealtime"]

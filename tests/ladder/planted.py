"""The bugs that are planted in the compiler, by name."""

from __future__ import annotations

from tests.ladder import planted_code, planted_passes  # noqa: F401  (each enters its own)
from tests.ladder.planting import PLANTED as PLANTED

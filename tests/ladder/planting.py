"""How a bug is planted in the compiler: one function of it is another for the time of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Planted:
    """`launch` is one of `LAUNCHES`; `rung` the first that must differ; `mark` the line of the
    kernel that must be named, if one must; `says` a word of the finding."""

    launch: str
    rung: str
    plant: Plant
    mark: str = ""
    says: str = ""


PLANTED: dict[str, Planted] = {}


def planted(name: str, launch: str, rung: str, mark: str = "", says: str = "") -> Any:
    """Enters a bug."""

    def enter(plant: Plant) -> Plant:
        PLANTED[name] = Planted(launch, rung, plant, mark, says)
        return plant

    return enter

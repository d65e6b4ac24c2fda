"""The fixtures of the differential suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.climbing import Climbing
from tests.differential.sample import Sample, current


@pytest.fixture
def sample() -> Sample:
    """The draws of this run."""
    return current()


@pytest.fixture
def climbing(request: pytest.FixtureRequest) -> Iterator[Climbing]:
    """The climbs of one test."""
    made = Climbing(request.node)
    yield made
    made.tell()

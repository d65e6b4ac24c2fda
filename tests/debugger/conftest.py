"""No test leaves a session open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockstep.runtime import held
from tests.debugger.opened import close_all


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    """Sessions are closed, and the last launch that failed is forgotten, also after a failure."""
    yield
    close_all()
    held.forget()

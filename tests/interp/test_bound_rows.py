"""The derived bound on a kernel for every operation: no legal variation is called wrong."""

from __future__ import annotations

import pytest

from tests.interp.bounding import bounding
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
PRINTS = frozenset({"print", "globaltimer", "device_query"})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_legal_variations_of_a_row_are_within_its_bound(row: Row) -> None:
    with bounding() as seen:
        row.run()
    assert seen.bounds or seen.unbounded

"""The row of every operation gives the same bits and findings on every machine."""

from __future__ import annotations

import pytest

from tests.agreement.launcher import agreeing
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_agrees(row: Row) -> None:
    with agreeing():
        row.run()

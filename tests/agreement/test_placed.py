"""Every pass of the compiler keeps every bit: rows of operations, examples, fuzzed kernels and loops
of products run on the grid machine after each of them."""

from __future__ import annotations

import pytest

from tests.agreement.placed import placing
from tests.agreement.test_rows import STEP_ONLY
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.op not in STEP_ONLY], ids=lambda row: f"{row.op}-{row.name}"
)
def test_passes_keep_the_bits_of_a_row(row: Row) -> None:
    with placing() as seen:
        row.run()
    assert seen.left == {}

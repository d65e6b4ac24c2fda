"""The row of every operation gives the same bits and findings on every machine, and runs on the grid
machine unless the operation is one that only the step machine has."""

from __future__ import annotations

import pytest

from tests.agreement.launcher import agreeing
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
STEP_ONLY = {
    "map": "calls a function for each element, which may branch",
    "map_packed": "as `map`",
    "collect": "as `map`",
    "element": "as `map`",
    "atomic_cas": "acts in the order of program instances",
    "atomic_load": "as `atomic_cas`",
    "atomic_store": "as `atomic_cas`",
    "int_to_pointer": "the argument that it points into is known when it runs",
    "print": "prints in the order of program instances",
    "globaltimer": "counts calls in their order",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_agrees(row: Row) -> None:
    with agreeing() as seen:
        row.run()
    if row.op not in STEP_ONLY:
        assert seen.on_step == []


def test_the_exceptions_are_operations() -> None:
    assert set(STEP_ONLY) <= {row.op for row in ROWS}

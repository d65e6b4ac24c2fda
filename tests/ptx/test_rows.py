"""What our compiler makes of the row of every operation runs as PTX, clean, to the step machine's
bits."""

from __future__ import annotations

import pytest

from tests.ops import rows
from tests.ops.table import ROWS, Row
from tests.ptx.compiled import outcomes

assert rows.__doc__  # importing it fills ROWS
NEAR = {"exp", "sin", "erf"}  # libdevice's own rounding, within one unit of the step machine's
UNLAUNCHED: set[str] = set()
HOST = {"globaltimer"}  # each machine has a clock of its own


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_gives_the_same_bits(row: Row) -> None:
    with outcomes(target="sm_80") as older, outcomes(target="sm_90a") as newer:
        row.run()
    assert len(older) == len(newer) > 0 or row.op in UNLAUNCHED
    for one in (*older, *newer):
        assert one.faults == ()
        if row.op in NEAR:
            assert one.error == "" or one.error.endswith("ulps 1.0")
        elif row.op not in HOST:
            assert one.error == ""

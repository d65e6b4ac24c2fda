"""The row of every operation, compiled and run lane by lane in NumPy, gives the bits of the meaning.

Left out are the operations whose code uses matrix units or libdevice."""

from __future__ import annotations

import pytest

from blockstep.compiler.lower import Options
from tests.compiler.simulated import simulating
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
CHOSEN = (
    Options(num_warps=1),
    Options(num_warps=4),
    Options(num_warps=4, target="sm_80"),
    Options(num_warps=4, exact=True),
)
ELSEWHERE = {"log", "log2", "sin", "cos", "erf", "libdevice", "dot", "dot_scaled"}
"""Run by matrix units or libdevice."""
EXACT_ELSEWHERE = {"exp", "exp2", "rsqrt"}
"""By libdevice where exact code is asked for."""
APPROXIMATE = {"exp": 2, "exp2": 1, "rsqrt": 1, "fdiv": 1}
"""Units in the last place that the instruction of fast code is allowed here."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_runs_lane_by_lane(row: Row) -> None:
    with simulating(*CHOSEN, ulps=APPROXIMATE.get(row.op, 0)) as seen:
        row.run()
    assert bool(seen.passed_over) == (row.op in ELSEWHERE | EXACT_ELSEWHERE)
    assert seen.compared or row.op in ELSEWHERE

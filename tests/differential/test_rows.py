"""The row of every operation agrees on every rung, on both architectures, with sampled warps and
stages; `--ladder-all`: with each number of warps."""

from __future__ import annotations

import pytest

from blockstep.runtime.ladder import Status
from tests.agreement.test_rows import STEP_ONLY
from tests.differential.climbing import Climbing
from tests.differential.sample import ARCHITECTURES, WARPS, Sample, current
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
OWN_CLOCK = "globaltimer"  # each machine has a clock of its own
NEAR = {"exp", "sin", "erf"}  # libdevice's own rounding, within one unit of the step machine's
WARPED = WARPS if current().everything else (None,)


@pytest.mark.parametrize("warps", WARPED)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op}-{row.name}")
def test_a_row_agrees_on_every_rung(
    row: Row, arch: str, warps: int | None, sample: Sample, climbing: Climbing
) -> None:
    drawn = sample.options(f"{row.op} {row.name} {arch} {warps}")
    options = {**drawn, "arch": arch, "num_warps": warps or drawn["num_warps"]}
    if row.op == OWN_CLOCK:
        pytest.skip("each machine has a clock of its own")
    with climbing.launches(options):
        row.run()
    assert climbing.climbs
    for climb in climbing.climbs:
        left = [o.rung for o in climb.outcomes if o.rung != "gpu" and not o.status.passed]
        assert left == [] or (row.op in STEP_ONLY and climb.compared), str(climb)
        exact = climb.outcome("ptx, exact")  # the numbers of rows are exact, whatever the order
        assert exact.status is Status.EQUAL or (row.op in NEAR and exact.ulps <= 1), str(climb)

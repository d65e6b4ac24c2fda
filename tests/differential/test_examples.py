"""Every example agrees on every rung, as it launches its kernels and with sampled options."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockstep import commandline, target
from blockstep.runtime import redirect, session
from tests.differential.climbing import Climbing
from tests.differential.sample import Sample

OPEN = {"grouped_gemm": "its matrices lie behind addresses in memory, which no bound follows"}
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("drawn", [False, True], ids=["as it is", "drawn options"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_agrees_on_every_rung(
    example: Path, drawn: bool, sample: Sample, climbing: Climbing
) -> None:
    options = sample.options(example.stem) if drawn else {}
    try:
        with target.using(target.current()), climbing.launches(options):
            assert commandline.main(["run", str(example)]) == 0
    finally:
        session.set_process(None)
        redirect.uninstall()
    assert climbing.climbs
    assert drawn or example.stem in OPEN or all(climb.compared for climb in climbing.climbs)

"""Random kernels agree on every rung; `make ladder` ends with the long campaign."""

from __future__ import annotations

import pytest

from tests.differential.climbing import Climbing
from tests.differential.sample import current
from tests.fuzz.climbing import case_of, verdict

KERNELS, ALL = 250, 2500


@pytest.mark.parametrize("number", current().numbers(KERNELS, ALL, "fuzzed"))
def test_a_random_kernel_agrees_on_every_rung(number: int, climbing: Climbing) -> None:
    case = case_of(number)
    found = verdict(case)
    assert found.name not in ("disagrees", "crash"), f"{found.text}\n{climbing.again}"

"""Operations over all types, functions, accesses and products agree on every rung: a sample of the
cases that a device compares with Triton."""

from __future__ import annotations

import pytest

from blockstep.runtime.ladder import Status
from tests.differential.against import cases, climb, options_of
from tests.differential.climbing import Climbing
from tests.differential.sample import Sample, current

CASES = 2000


@pytest.mark.parametrize("key", current().chosen(sorted(cases()), CASES, "cases"))
def test_a_case_agrees_on_every_rung(key: str, sample: Sample, climbing: Climbing) -> None:
    options = options_of(cases()[key], sample.options(key))
    found = climb(cases()[key], sample.seed, options)
    climbing.check(found, options)
    step = found.outcomes[0]
    source = "LanguageError" in step.text or "the source has an error" in str(found)
    assert found.compared or source, str(found)
    if step.status is Status.NOT_RUN:
        pytest.skip(step.text)

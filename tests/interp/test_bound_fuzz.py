"""The derived bound on random kernels: its values are the step machine's, and no legal variation is
called wrong. Kernels that break a rule are left out: what a race leaves is anybody's guess."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.agreement.agree import copies, outcome
from tests.fuzz.case import Case, loaded
from tests.fuzz.generate import generate
from tests.interp.bounding import Seen, bounding

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def hold(case: Case, seeds: int = 3) -> Seen | None:
    """Bounds one case; None if it is not clean."""
    names = loaded(case.script())
    try:
        with np.errstate(all="ignore"):
            arguments = names["arguments"]()
        judged = outcome("step", names["kernel"], case.grid, arguments, 0, {})
        if judged.findings or judged.error:
            return None
        with np.errstate(all="ignore"), bounding(seeds) as seen:
            names["kernel"][case.grid](*copies(arguments))
        return seen
    finally:
        names["__forget__"]()


@settings(max_examples=40, deadline=None, suppress_health_check=QUIET, database=None)
@given(number=st.integers(0, 1 << 32))
def test_legal_variations_of_random_kernels_are_within_their_bound(number: int) -> None:
    case = generate(Random(number))
    note(case.script())
    hold(case)


def test_most_clean_kernels_are_bounded() -> None:
    found = [hold(generate(Random(number)), seeds=1) for number in range(60)]
    clean = [seen for seen in found if seen is not None]
    assert len(clean) >= 20
    assert sum(bool(seen.bounds) for seen in clean) >= 0.9 * len(clean)

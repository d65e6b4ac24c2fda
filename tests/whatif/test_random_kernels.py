"""Random kernels: rewritten with nothing switched off they keep every bit, and in float64 they run."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from blockstep.errors import TritonError
from blockstep.ir import verify
from blockstep.language import types as ty
from blockstep.runtime.whatif.decisions import decisions
from blockstep.runtime.whatif.rewriting import widened
from blockstep.runtime.whatif.running import Repeated
from blockstep.runtime.whatif.widening import NotWidened, Widening
from tests.agreement.agree import Empty
from tests.fuzz.case import loaded
from tests.fuzz.generate import generate
from tests.whatif.taken import launch_of

CASES = 40


def _drawn(number: int) -> Any:
    """A launch that can be run again, or None for one that the grid machine refuses."""
    names = loaded(generate(Random(number)).script())
    try:
        arguments = [
            np.zeros(a.shape, a.dtype) if isinstance(a, Empty) else a for a in names["arguments"]()
        ]
        launch = launch_of(names["kernel"], *arguments, grid=names["GRID"])
        return Repeated(launch)
    except (NotWidened, TritonError):
        return None


@pytest.mark.parametrize("number", range(CASES))
def test_a_random_kernel_is_rewritten_into_what_it_is(number: int) -> None:
    made = _drawn(number)
    if made is None:
        return
    with np.errstate(all="ignore"):
        try:
            wanted = made.as_written()
        except NotWidened:
            return
        found = made.widened(Widening())
        for name, values in wanted.items():
            assert np.array_equal(values, found[name], equal_nan=True), name
        for kind in (ty.float32, ty.float64):
            verify(widened(made.function, made.at_least(kind)))
        for decision in decisions(made.function):
            verify(widened(made.function, made.with_memory(decision.how, *decision.arrays)))


def test_most_random_kernels_can_be_run_again() -> None:
    assert sum(_drawn(number) is not None for number in range(CASES)) > CASES // 2

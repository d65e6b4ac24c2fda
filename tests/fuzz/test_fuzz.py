"""A short run of the fuzzer, and every kernel that it ever found to fail.

The long run is `make fuzz`. A failure here prints the script; hypothesis shrinks it by its choices,
`tests/fuzz/shrink.py` by its text.
"""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.agreement.agree import Disagreement, choosing
from tests.fuzz import campaign
from tests.fuzz.case import Case, run_script
from tests.fuzz.generate import generate
from tests.fuzz.shrink import shrink

CHECKERS = ["bounds", "race", "overlap", "uninit", "overflow", "arithmetic", "grid", "hint"]
FOUND = sorted((Path(__file__).parent / "found").glob("*.py"))
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("script", FOUND, ids=lambda path: path.stem)
def test_what_failed_once_agrees(script: Path) -> None:
    run_script(script.read_text())


@settings(max_examples=60, deadline=None, suppress_health_check=QUIET, database=None)
@given(random=st.randoms(use_true_random=False))
def test_machines_agree_on_random_kernels(random: Random) -> None:
    case = generate(random)
    note(case.script())
    campaign.run(case)


@settings(max_examples=40, deadline=None, suppress_health_check=QUIET, database=None)
@given(
    number=st.integers(0, 1 << 32),
    how=st.sampled_from(["only", "skip"]),
    checkers=st.sets(st.sampled_from(CHECKERS), min_size=1, max_size=3),
)
def test_machines_agree_whatever_is_left_out(number: int, how: str, checkers: set[str]) -> None:
    case = generate(Random(number))
    note(f"{how} {checkers}\n{case.script()}")
    with choosing(**{how: checkers}):
        try:
            case.run()
        except Disagreement as different:  # what a race leaves in memory is anybody's guess
            if different.kind != "bits" or ("race" in checkers) == (how == "only"):
                raise


@settings(max_examples=15, deadline=None, suppress_health_check=QUIET, database=None)
@given(number=st.integers(0, 1 << 32))
def test_passes_change_nothing_on_random_kernels(number: int) -> None:
    case = generate(Random(number))
    note(case.script())
    campaign.run(case, with_passes=True)


def test_a_case_is_a_function_of_its_number() -> None:
    assert generate(Random(7)) == generate(Random(7))


def test_most_cases_run_on_the_grid_machine() -> None:
    outcomes = [generate(Random(number)).run() for number in range(40)]
    assert sum(o.on_grid for o in outcomes) >= 20


def test_shrinking_keeps_what_fails() -> None:
    case = next(c for c in map(generate, map(Random, range(99))) if "tl.sort(" in c.kernel)
    small = shrink(case, lambda c: "tl.sort(" in c.kernel, seconds=3)
    assert "tl.sort(" in small.kernel
    assert len(small.kernel) < len(case.kernel)
    assert isinstance(ast.parse(small.script()), ast.Module)


def test_a_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    first = campaign.Campaign.resumed(state, False)
    first.go(3, state)
    second = campaign.Campaign.resumed(state, False)
    assert (second.done, second.counts) == (3, first.counts)
    second.go(5, state)
    assert sum(second.counts[k] for k in ("on grid", "on step", "disagree")) == 5


def test_a_script_runs_alone() -> None:
    case = Case(
        "@triton.jit\ndef kernel(x):\n    tl.store(x, 1)\n", (1,),
        ("x = np.zeros(2, np.int32)", "return [x]"),
    )  # fmt: skip
    assert run_script(case.script()).on_grid

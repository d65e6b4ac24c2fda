"""The suite itself: what it draws, and what a failure says."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.differential.climbing import Climbing, Disagrees
from tests.differential.sample import ARCHITECTURES, STAGES, WARPS, Sample
from tests.ladder import kernels
from tests.ladder.planted import PLANTED

BUG = "signed numbers divided as unsigned ones"


def test_a_seed_repeats_its_draws() -> None:
    assert Sample(7).options("a") == Sample(7).options("a")
    assert Sample(7).numbers(5, 9, "a") == Sample(7).numbers(5, 9, "a")
    assert Sample(7).chosen(range(99), 9, "a") == Sample(7).chosen(range(99), 9, "a")
    assert Sample(7).chosen(range(99), 9, "a") != Sample(8).chosen(range(99), 9, "a")


def test_every_option_is_drawn() -> None:
    drawn = [Sample(1).options(str(n)) for n in range(100)]
    assert {d["arch"] for d in drawn} == set(ARCHITECTURES)
    assert {d["num_warps"] for d in drawn} == set(WARPS)
    assert {d["num_stages"] for d in drawn} == set(STAGES)


def test_nothing_is_left_out_on_demand() -> None:
    assert Sample(1, everything=True).chosen(range(99), 9, "a") == list(range(99))
    assert Sample(1, everything=True).numbers(5, 9, "a") == list(range(9))


def test_a_failure_says_the_options_the_rung_and_how_to_repeat_it(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTED[BUG].plant(monkeypatch)
    x, y = np.full(128, -70, np.int32), np.full(128, 3, np.int32)
    climbing = Climbing(request.node)
    with pytest.raises(Disagrees) as raised, climbing.launches({"num_warps": 2, "num_stages": 1}):
        kernels.integers[(1,)](x, y, np.zeros(256, np.int32), BLOCK=128)
    text = str(raised.value)
    assert "launched with num_warps=2, num_stages=1" in text
    assert "ptx, exact" in text and "differs: out_ptr[0]" in text
    assert "test_a_failure_says" in text and "--ladder-seed" in text


def test_the_seed_is_shown_at_the_end_of_a_quiet_run() -> None:
    words = ["-q", "-n0", "-p", "no:cacheprovider", "--ladder-seed", "41"]
    path = "tests/differential/test_rows.py::test_a_row_agrees_on_every_rung[add-add-sm80-None]"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words, path], capture_output=True, text=True, check=False
    )
    assert "--ladder-seed 41" in run.stdout, run.stdout
    assert "agree on every rung" in run.stdout

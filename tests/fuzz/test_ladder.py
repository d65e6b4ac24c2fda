"""Fuzzed kernels climb the ladder: a few, every one that ever failed, and what the campaign does
with workers that die or hang."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import ladder
from tests.fuzz.case import Case, loaded
from tests.fuzz.climbing import FOUND, Verdict, case_of, verdict, written
from tests.fuzz.pool import Lost, results

CLIMBED = sorted(FOUND.glob("*.py"))
NONE = float("inf")
BROKEN = Case(
    "@triton.jit\ndef kernel(x):\n    tl.store(x + 5, 1)\n", (1,),
    ("x = np.zeros(2, np.int32)", "return [x]"), launch=(("num_warps", 1),),
)  # fmt: skip


@pytest.mark.parametrize("script", CLIMBED, ids=lambda path: path.stem)
def test_what_disagreed_once_agrees_on_every_rung(script: Path) -> None:
    from blockstep.runtime.ladder import verify

    names = loaded(script.read_text())
    try:
        given = [written(a) for a in names["arguments"]()]
        climb = verify(names["kernel"], given, grid=names["GRID"], **names["LAUNCH"])
    finally:
        names["__forget__"]()
    assert not climb.disagrees, f"{climb}\n" + "\n".join(f.message for f in climb.findings)


def test_a_few_kernels_agree_on_every_rung() -> None:
    for number in range(20_000, 20_012):
        found = verdict(case_of(number))
        assert found.name not in ("disagrees", "crash"), f"case {number}: {found.text}"


def test_a_case_has_launch_options_that_follow_from_its_number() -> None:
    assert case_of(7) == case_of(7)
    assert {dict(case_of(n).launch)["num_warps"] for n in range(40)} == {1, 2, 4, 8}


def test_a_kernel_that_is_wrong_itself_is_refused() -> None:
    found = verdict(BROKEN)
    assert found.name == "refused"
    assert "OutOfBoundsError" in found.reason


def _work(task: str) -> Any:
    if task == "hangs":
        time.sleep(60)
    if task == "dies":
        os._exit(3)
    return task.upper()


def test_a_worker_that_hangs_or_dies_costs_its_own_task_alone() -> None:
    tasks = ["a", "hangs", "b", "dies", "c", "d"]
    found = dict(results(_work, iter(tasks), 2, 2.0, NONE))
    assert found.keys() == set(tasks)
    assert [found[t] for t in "abcd"] == ["A", "B", "C", "D"]
    assert found["hangs"] == Lost(True, "")
    assert found["dies"] == Lost(False, "exit status 3")


def _process(task: int) -> int:
    return os.getpid()


def test_a_worker_that_is_spent_is_replaced() -> None:
    found = dict(results(_process, iter(range(4)), 1, 20.0, NONE, spent=lambda pid: True))
    assert len(set(found.values())) == 4
    found = dict(results(_process, iter(range(4)), 1, 20.0, NONE))
    assert len(set(found.values())) == 1


def test_a_campaign_goes_on_behind_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = ladder.State.resumed(None, 10)
    for number in (12, 10):
        state.add(number, Verdict("agrees"))
    state.add(15, Verdict("left out", "grid: an atomic"))
    state.save(path)
    again = ladder.State.resumed(path, 0)
    assert (again.first, again.done, again.ahead, again.kernels) == (10, 11, {12, 15}, 3)
    assert again.reasons == {"left out": {"grid: an atomic": 1}}
    assert list(ladder.Campaign(again, path, tmp_path)._tasks(7)) == [11, 13, 14, 16]


def test_a_finding_becomes_a_script(tmp_path: Path) -> None:
    campaign = ladder.Campaign(ladder.State(), None, tmp_path)
    campaign.take(3, Verdict("too long", "more than 60 s"))
    text = (tmp_path / "case_3.py").read_text()
    assert "more than 60 s" in text and "LAUNCH = " in text
    assert campaign.state.findings[0]["script"] == "case_3.py"

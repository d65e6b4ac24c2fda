"""Planted bugs of the compiler: `verify` catches each, and names the pass or the rung, and the line."""

from __future__ import annotations

import pytest

from blockstep.findings import Finding
from tests.ladder import kernels
from tests.ladder.launches import LAUNCHES
from tests.ladder.planted import PLANTED


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_compiler_as_it_is_gives_no_finding(name: str) -> None:
    found = LAUNCHES[name]()
    assert found.passed and not found.findings, str(found)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_caught_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug = PLANTED[name]
    bug.plant(monkeypatch)
    climb = LAUNCHES[bug.launch]()
    assert climb.first_wrong is not None, str(climb)
    finding = climb.finding
    assert finding is not None and finding.kind == "compiler"
    text = f"{climb}\n{finding}"
    assert climb.first_wrong.rung == bug.rung, text
    if bug.mark:
        assert kernels.line_of(bug.mark) in _lines(finding), text
    assert bug.says in text, text


def _lines(finding: Finding) -> list[int]:
    """The lines of the kernel that a finding names, the first the one that is to blame."""
    return [finding.span.line]


def test_there_are_enough_of_them() -> None:
    stages = {bug.rung for bug in PLANTED.values()}
    assert len(PLANTED) >= 30
    assert len(stages) >= 9

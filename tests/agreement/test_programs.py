"""Whole programs give the same findings on every machine, and those without a fault really run on
the grid machine.

`step_only.txt` names the programs in tests/pass some launch of which needs the step machine, with
the reason. A program that is not in it and leaves the grid machine is a failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agreement.agree import MACHINES, fact
from tests.conftest import at_most
from tests.judged import Verdict, check, flags_of

TESTS = Path(__file__).parent.parent
BUGS = TESTS.parent / "examples" / "bugs"
PASS = sorted((TESTS / "pass").rglob("*.py"))
FAIL = sorted((TESTS / "fail").rglob("*.py")) + sorted(BUGS.rglob("*.py"))
EXAMPLES = sorted((TESTS.parent / "examples").glob("*.py"))
STEP_ONLY = dict(
    line.split(": ", 1)
    for line in (Path(__file__).parent / "step_only.txt").read_text().splitlines()
)
SECONDS = 60


def name(program: Path) -> str:
    """How a program is called in `step_only.txt`."""
    return f"{program.parent.name}/{program.stem}"


def verdict(program: Path, machine: str, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """Runs a program on one machine."""
    if "import torch" in program.read_text():
        pytest.importorskip("torch")
    monkeypatch.setenv("BLOCKSTEP_MACHINE", machine)
    with at_most(SECONDS):
        return check(program, flags_of(program))


def facts(found: Verdict) -> list[Any]:
    """The findings, in an order that does not depend on who saw them first."""
    return sorted(map(fact, found.findings), key=repr)


@pytest.mark.parametrize("program", FAIL + PASS + EXAMPLES, ids=name)
def test_a_program_gives_the_same_findings(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, grid = (verdict(program, machine, monkeypatch) for machine in MACHINES)
    if "#~ NUMBERS: vary" in program.read_text():  # they depend on where memory happens to lie
        assert [f[:5] for f in facts(step)] == [f[:5] for f in facts(grid)]
    else:
        assert facts(step) == facts(grid)
    assert step.status == grid.status


@pytest.mark.parametrize("program", [p for p in PASS if name(p) not in STEP_ONLY], ids=name)
def test_a_clean_program_stays_on_the_grid_machine(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = verdict(program, "grid", monkeypatch).report.launches
    assert [x.kernel for x in launches if x.machine != "grid"] == []


def test_the_exceptions_are_programs() -> None:
    assert set(STEP_ONLY) <= {name(p) for p in PASS}

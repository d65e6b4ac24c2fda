"""Every program in examples/bugs ends with what the tool says about it, word for word.

`pytest --bless` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blockstep.findings import KINDS
from tests.judged import Verdict, check

FOLDER = Path(__file__).parents[1] / "examples" / "bugs"
PROGRAMS = sorted(FOLDER.glob("*.py"))
TITLE = "# What the tool says:\n#\n"
COMMAND = re.compile(r"blockstep check (.*?) ?examples/")
# Of other machines, or of none.
LATER = {"internal", "barrier", "async", "compiler"}


def judged(program: Path) -> Verdict:
    """The verdict, with the options that the program's docstring names."""
    command = COMMAND.search(program.read_text())
    return check(program, command[1].split() if command else ())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_says_what_the_tool_says(program: Path, bless: bool) -> None:
    source = program.read_text()
    code = source.partition(f"\n\n{TITLE}")[0].rstrip("\n")
    verdict = judged(program)
    assert verdict.findings
    lines = verdict.text.rstrip("\n").splitlines()
    said = "".join(f"#     {line}\n" if line else "#\n" for line in lines)
    wanted = f"{code}\n\n\n{TITLE}{said}"
    if bless:
        program.write_text(wanted)
    assert program.read_text() == wanted


def test_every_kind_of_finding_has_an_example() -> None:
    shown = {kind for program in PROGRAMS for kind in _kinds(program.read_text())}
    assert shown >= set(KINDS) - LATER


def _kinds(text: str) -> set[str]:
    found = set(re.findall(r"^#     (?:error|warning|note)\[([\w-]+)\]:", text, re.M))
    return found | set(re.findall(r"^#     (unsupported):", text, re.M))

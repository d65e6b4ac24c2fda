"""Every program in examples/precision ends with what `blockstep precision` says about it, word for word,
and that names the line marked `here`, with the cause written there. `pytest --bless` writes it anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted((ROOT / "examples" / "precision").glob("*.py"))
TITLE = "# What `blockstep precision` says:\n#\n"


def said_of(program: Path) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "blockstep", "precision", str(program.relative_to(ROOT))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_says_what_the_command_says(program: Path, bless: bool) -> None:
    source = program.read_text()
    code = source.partition(f"\n\n{TITLE}")[0].rstrip("\n")
    told = said_of(program)
    lines = "".join(f"#     {line}\n" if line else "#\n" for line in told.splitlines())
    wanted = f"{code}\n\n\n{TITLE}{lines}"
    if bless:
        program.write_text(wanted)
    assert program.read_text() == wanted
    marked = [(n, t) for n, t in enumerate(code.splitlines(), 1) if "# here: " in t]
    if program.stem == "exact_integers":
        assert "exact: nothing is rounded" in told
        return
    ((number, text),) = marked
    cause = text.partition("# here: ")[2]
    assert cause in _about(told, number)
    assert re.search(rf"^ +{number} \| ", told, re.M)


def _about(told: str, number: int) -> str:
    """What is said of a line: under it, and in what would give it back."""
    under = re.search(rf"^ +{number} \| .*\n((?: +\| +\|.*\n?)*)", told, re.M)
    parts = [re.sub(r"\s+\| +\| +\^? *", " ", under[1])] if under else []
    _, _, costs = told.partition("what would give it back")
    for cost in re.split(r"\n  (?=\S)", costs):
        if re.match(rf"\d+\. \S+:{number}:", cost):
            parts.append(re.sub(r"\s+", " ", cost))
    return " ".join(parts)

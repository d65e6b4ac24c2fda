"""Every example runs, checks its own result, and has no finding."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
MOST_LINES = 120


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_an_example_is_right_and_clean(example: Path) -> None:
    command = [sys.executable, "-m", "blockstep", "check", str(example)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "no findings" in run.stderr
    assert len(example.read_text().splitlines()) <= MOST_LINES

"""What coverage and line tracers see of a kernel: the lines that ran, in the user's own file."""

import linecache
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """\
import numpy as np, blockstep, blockstep.language as tl

@blockstep.jit
def helper(v):
    w = v + 1
    return w

@blockstep.jit
def kernel(x, TWICE: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    if TWICE:
        v = v * 2
    tl.store(x + i, helper(v))

kernel[(1,)](np.ones(8, np.float32), False)
"""

TRACE = """\
import runpy, sys, trace
counts = trace.Trace(count=1, trace=0)
counts.runfunc(runpy.run_path, sys.argv[1])
print(sorted(line for (file, line) in counts.results().counts if file == sys.argv[1]))
"""


@pytest.mark.parametrize("machine", ["grid", "step"])
def test_a_line_tracer_sees_the_lines_that_ran(
    tmp_path: Path, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    monkeypatch.setenv("BLOCKSTEP_MACHINE", machine)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ended = subprocess.run(
        [sys.executable, "-c", TRACE, str(script)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    seen = eval(ended.stdout)
    inside = {5, 6, 10, 11, 12, 13, 14}  # the bodies of both functions
    missed = inside - set(seen)
    assert [linecache.getline(str(script), line).strip() for line in missed] == ["v = v * 2"]

"""`--shrink`: a launch that disagrees becomes a small script that disagrees in the same way."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.ladder import climb, take
from blockstep.runtime.ladder.reproducing import case_of
from blockstep.runtime.ladder.shrinking import reproducer, way_of
from blockstep.runtime.ladder.sources import NotWritten
from tests.ladder import kernels
from tests.ladder.launches import small, zeros
from tests.ladder.planted import PLANTED

ROOT = Path(__file__).parents[2]
SHIFT = tl.constexpr(3)


@triton.jit
def moved(x, by):
    return x + by


@triton.jit
def with_helpers(x_ptr, out_ptr, n, scale: tl.constexpr, BLOCK: tl.constexpr):
    """A docstring."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, moved(x, SHIFT) * scale, mask=offs < n)


def integers() -> Any:
    x = np.random.default_rng(0).integers(-100, 100, 64).astype(np.int32)
    y = np.where(np.arange(64) % 2, 7, -3).astype(np.int32)
    given = (x, y, zeros(128, dtype=np.int32))
    return take(kernels.integers, given, {"BLOCK": 64}, (1,))


def test_a_reproducer_is_small_and_fails_as_long_as_the_bug_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        PLANTED["signed numbers divided as unsigned ones"].plant(planted)
        launch = integers()
        wrong = climb(launch, explains=False).first_wrong
        assert wrong is not None and way_of(wrong) == ("ptx, exact", "value")
        text = reproducer(launch, wrong, seconds=20)
        file = tmp_path / "repro.py"
        file.write_text(text)
        assert "x // y" in text and "x < y" not in text
        assert len(text.splitlines()) < 50
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(str(file), run_name="__main__")
        assert stop.value.code == 1
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(file), run_name="__main__")
    assert stop.value.code == 0


def test_a_launch_is_written_with_all_that_its_kernel_reads() -> None:
    x: Any = small(4, 40)[:, ::2]
    launch = take(with_helpers, (x, zeros(80)), {"n": 80, "scale": 2.0, "BLOCK": 32}, (3,))
    text = case_of(launch).script("title")
    names: dict[str, Any] = {"__name__": "written"}
    exec(compile("", "<empty>", "exec"), names)
    assert "SHIFT = tl.constexpr(3)" in text
    assert text.index("def moved") < text.index("def with_helpers")
    assert "A docstring" not in text
    assert "(4, 20), np.float32, MEMORY_0, 0, (160, 8)" in text


def test_memory_behind_addresses_cannot_be_written() -> None:
    from tests.ladder.test_climb import through_table

    part = np.zeros(64, np.float32)
    table = np.array([part.ctypes.data], np.int64)
    launch = take(through_table, (table, zeros(1, 64)), {"BLOCK": 64}, (1,))
    climb(launch)
    with pytest.raises(NotWritten, match="through addresses"):
        case_of(launch)


SCRIPT = """
import numpy as np, triton, triton.language as tl

@triton.jit
def divided(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    q = tl.load(x_ptr + offs) // tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, q)

x = np.arange(-8, 8, dtype=np.int32)
y = np.full(16, 3, np.int32)
divided[(1,)](x, y, np.empty_like(x), BLOCK=16)
"""
PLANT = """
import sys, pytest
from tests.ladder.planted import PLANTED
PLANTED["signed numbers divided as unsigned ones"].plant(pytest.MonkeyPatch())
from blockstep.commandline import main
raise SystemExit(main(sys.argv[1:]))
"""


def said(folder: Path, *words: str, planted: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs `blockstep words` in a folder, the bug planted or not."""
    how = ["-c", PLANT] if planted else ["-m", "blockstep"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *how, *words], cwd=folder, capture_output=True, text=True, timeout=180,
        check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def test_the_command_verifies_a_script_and_its_reproducer(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = said(tmp_path, "verify", "--shrink", "repro.py", "script.py")
    assert found.returncode == 1, found.stderr
    assert "ptx, exact" in found.stdout and "a reproducer was written: repro.py" in found.stdout
    assert "error[compiler]" in found.stderr and "q = tl.load" in found.stderr
    again = said(tmp_path, "verify", "repro.py")
    assert again.returncode == 1 and "error[compiler]" in again.stderr, again.stderr
    assert said(tmp_path, "verify", "repro.py", planted=False).returncode == 0


def test_the_command_says_when_nothing_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    none = said(tmp_path, "verify", "script.py", "--kernel", "other", planted=False)
    assert none.returncode == 2 and "0 launches" in none.stdout
    clean = said(tmp_path, "verify", "script.py", "--launch", "1", "--json", "-", planted=False)
    assert clean.returncode == 0 and '"rung": "ptx"' in clean.stdout

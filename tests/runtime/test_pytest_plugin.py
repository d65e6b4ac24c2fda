"""`pytest --blockstep`: a test whose kernel has an error fails with its diagnostics."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TESTS = """\
import numpy as np, pytest, triton, triton.language as tl

@triton.jit
def fill(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)

@triton.jit
def same(x_ptr):
    tl.store(x_ptr, 1.0)

@triton.jit
def root(x_ptr):
    tl.store(x_ptr, tl.sqrt(tl.load(x_ptr)))

@pytest.mark.parametrize("n", [8, 5])
def test_fill(n):
    fill[(1,)](np.zeros(n, np.float32), B=8)

def test_same():
    same[(2,)](np.zeros(1, np.float32))

def test_nan():
    fill[(1,)](np.full(8, np.nan, np.float32), B=8)
    root[(1,)](np.full(1, -1, np.float32))

def test_wrong():
    x = np.zeros(5, np.float32)
    fill[(1,)](x, B=8)
    assert x[0] == 2
"""


def session(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest over the tests above, as a session of its own."""
    (folder / "test_kernels.py").write_text(TESTS)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags],
        cwd=folder,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_an_error_in_a_kernel_fails_its_test(tmp_path: Path, workers: tuple[str, ...]) -> None:
    if workers:
        pytest.importorskip("xdist")
    ended = session(tmp_path, "--blockstep", *workers)
    assert ended.returncode == 1
    assert "2 failed, 3 passed" in ended.stdout
    assert "FAILED test_kernels.py::test_fill[5]" in ended.stdout
    assert "error[out-of-bounds]: this store writes past the end of `x_ptr`" in ended.stdout
    assert "  --> test_kernels.py:5:5 in fill" in ended.stdout
    assert "warning[race]" in ended.stdout  # test_same passes; the summary tells


def test_a_test_that_fails_by_itself_keeps_its_failure_and_shows_the_findings(
    tmp_path: Path,
) -> None:
    ended = session(tmp_path, "--blockstep", "-k", "wrong")
    assert "assert x[0] == 2" in ended.stdout
    assert "error[out-of-bounds]" in ended.stdout


def test_checkers_can_be_left_out(tmp_path: Path) -> None:
    ended = session(tmp_path, "--blockstep", "--blockstep-skip", "bounds", "-k", "fill")
    assert "2 passed" in ended.stdout, ended.stdout


@pytest.mark.parametrize("asked", [True, False])
def test_nan_is_a_doubt_where_it_is_asked_for(tmp_path: Path, asked: bool) -> None:
    flags = ["--blockstep-precision"] if asked else []
    ended = session(tmp_path, "--blockstep", *flags, "-k", "test_nan")
    assert "1 passed" in ended.stdout, ended.stdout
    assert ("warning[precision]: this store writes NaN to `x_ptr`" in ended.stdout) == asked

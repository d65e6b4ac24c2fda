"""Scripts that say `cuda` and use a library as its users do, from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CLEAN = """
    import torch
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    assert torch.cuda.is_available()
    x = torch.randn(6, 100, device="cuda", requires_grad=True)
    w, b = torch.ones(100, device="cuda", requires_grad=True), torch.zeros(100).cuda()
    y = LigerLayerNormFunction.apply(x, w, b, 1e-5)
    torch.cuda.synchronize()
    y.sum().backward()
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (100,), w, b))
"""
FAULTY = """
    import torch
    from conch.ops.normalization.rms_norm import rms_norm

    rms_norm(torch.randn(4, 100, device="cuda"), torch.ones(100, device="cuda"), 1e-6)
"""


def run(command: str, script: Path) -> subprocess.CompletedProcess[str]:
    """`blockstep COMMAND SCRIPT` in a process of its own."""
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-m", "blockstep", command, str(script)],
        env={**os.environ, "PYTHONPATH": path, "BLOCKSTEP_MACHINE": "auto"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def script(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(request.param))
    return file


@pytest.mark.outside
@pytest.mark.parametrize("script", [CLEAN], indirect=True)
def test_a_training_step_is_checked(script: Path) -> None:
    done = run("check", script)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "no findings in 2 launches"


@pytest.mark.outside
@pytest.mark.parametrize("script", [FAULTY], indirect=True)
def test_a_fault_is_shown_at_the_library_s_own_line(script: Path) -> None:
    done = run("check", script)
    assert done.returncode == 1
    assert "error[uninitialised]: an undefined value is stored to `output_ptr`" in done.stderr
    assert "conch/kernels/normalization/rms_norm.py:62:5 in _rms_norm_kernel" in done.stderr


@pytest.mark.outside
@pytest.mark.parametrize("script", [CLEAN], indirect=True)
def test_a_training_step_runs_unjudged(script: Path) -> None:
    done = run("run", script)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr

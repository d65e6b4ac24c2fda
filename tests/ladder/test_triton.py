"""`verify --compiler triton`: another compiler's code on the ladder. A stand-in for its process always
runs; the real one where BLOCKSTEP_TRITON names an interpreter that has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.compiler import store
from blockstep.runtime.foreign import VARIABLE, Triton
from blockstep.runtime.foreign.process import Process
from blockstep.runtime.ladder import Climb, Status, climb, take
from blockstep.runtime.ladder.triton import TritonPtx

STAND_IN = Path(__file__).parents[1] / "runtime" / "foreign" / "stand_in.py"
SCRIPT = """
import numpy as np, triton, triton.language as tl
@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x + i, i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + i, e / tl.sum(e, 0), i < n)
x = np.random.default_rng(0).normal(size=100).astype(np.float32)
softmax[(1,)](x, np.zeros_like(x), 100, 128)
"""


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Triton]:
    monkeypatch.setattr(store, "current", lambda: store.Store(tmp_path, 1 << 20))
    made = Triton(process=Process(sys.executable, STAND_IN))
    yield made
    made.process.close()


@blockstep.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, offsets < n) + 1, offsets < n)


@blockstep.jit
def add_two(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, offsets < n) + 2, offsets < n)


def climbed(kernel: Any, args: tuple[Any, ...], triton: Triton) -> Climb:
    launch = take(kernel, args, {}, (2,), None)
    return climb(launch, [TritonPtx(triton)], ours=False)


def test_only_the_source_and_the_other_compiler_run(triton: Triton) -> None:
    found = climbed(add_one, (np.arange(64, dtype=np.int32), 45, 32), triton)
    assert [o.rung for o in found.outcomes] == ["step", "triton"]
    assert found.passed and found.compared


def test_code_that_does_something_else_is_a_finding_at_the_store(triton: Triton) -> None:
    found = climbed(add_two, (np.arange(64, dtype=np.int32), 45, 32), triton)
    assert found.outcome("triton").status is Status.DIFFERS
    assert found.finding is not None
    assert found.finding.span.line == add_two.fn.__code__.co_firstlineno + 3
    assert found.finding.argument == "x"


def test_a_refused_kernel_is_not_run(triton: Triton) -> None:
    found = climbed(add_one, (np.arange(64, dtype=np.int32), 45, "REFUSE"), triton)
    assert not found.compared


def verify(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "blockstep", "verify", "--compiler", "triton", *words]
    return subprocess.run([*command, str(script)], text=True, capture_output=True)


def test_without_triton_the_command_line_says_how_to_name_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = verify(script, "--triton-python", "no/such/python")
    assert found.returncode == 2
    assert "no/such/python cannot be run" in found.stderr
    assert f"--triton-python or {VARIABLE}" in found.stderr


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no interpreter")
def test_a_script_is_verified_with_the_triton_that_is_installed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = verify(script, "--json", "-")
    assert found.returncode == 0, found.stderr
    (one,) = json.loads(found.stdout)["climbs"]
    assert [r["rung"] for r in one["rungs"]] == ["step", "triton"]
    assert one["rungs"][1]["status"] == "within the bound"
    assert "Triton 3." in found.stderr

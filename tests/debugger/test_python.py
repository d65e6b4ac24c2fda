"""The debugger from Python: `blockstep.debug`, `post_mortem`, `here`, IPython's magics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.debugger import here, ipython
from blockstep.runtime import held


@triton.jit
def total(x_ptr, total_ptr, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    before = tl.load(total_ptr)
    tl.store(total_ptr, before + part)


@triton.jit
def picky(x_ptr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.device_assert(x < 3, "too large")


@triton.jit
def looked_at(x_ptr, out_ptr, look, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    look()
    tl.store(out_ptr + tl.arange(0, B), x)


Capture = pytest.CaptureFixture[str]


def given() -> tuple[Any, Any]:
    return np.ones(32, np.float32), np.zeros(1, np.float32)


def test_debug_stops_in_the_instance_and_memory_is_what_the_session_left(capsys: Capture) -> None:
    x, out = given()
    lines = ["next", "p part", "uncatch", "c", "c"]
    triton.debug(total, (x, out), grid=(4,), program=(2, 0, 0), commands=lines, BLOCK=8)
    said = capsys.readouterr().out
    assert "program instance (2, 0, 0) of grid (4, 1, 1)" in said and "<fp32 8.>" in said
    assert out[0] == 32


def test_a_session_that_ends_early_lets_the_launch_be_made(capsys: Capture) -> None:
    x, out = given()
    triton.debug(total, (x, out), grid=(1,), commands=["next"], BLOCK=32)
    assert out[0] == 32


def test_post_mortem_opens_the_last_launch_with_an_error_and_leaves_memory(capsys: Capture) -> None:
    x, out = given()
    with triton.check() as report:
        total[(4,)](x, out, BLOCK=8)
    assert report.errors
    left = out.copy()
    triton.post_mortem(["info locals", "reverse-continue total_ptr", "print before + part"])
    said = capsys.readouterr().out
    assert said.startswith("error[race]") and "total_ptr[0]: 0.0 becomes 8.0" in said
    assert np.array_equal(out, left)


def test_post_mortem_after_an_exception_stands_in_its_line(capsys: Capture) -> None:
    with pytest.raises(AssertionError):
        picky[(1,)](np.arange(8, dtype=np.float32), B=8)
    triton.post_mortem(["print x"])
    said = capsys.readouterr().out
    assert "tl.device_assert(x < 3" in said and "<fp32[8] [0., 1., 2." in said


def test_where_nothing_failed_post_mortem_says_so() -> None:
    with pytest.raises(ValueError, match="no launch has failed"):
        triton.post_mortem()


def test_a_launch_that_fails_is_kept_with_its_memory_from_before() -> None:
    x, out = given()
    total[(4,)](x, out, BLOCK=8)
    assert held.last_failed() is None and held.running() is None
    with triton.check():
        total[(4,)](x, out, BLOCK=8)
    failed = held.last_failed()
    assert failed is not None and failed.saved is not None
    now = out.copy()
    with failed.as_before():
        out[0] = 7
    assert np.array_equal(out, now)
    held.forget()
    assert held.last_failed() is None


def test_the_commands_work_wherever_a_kernel_stands(capsys: Capture) -> None:
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    said = []

    def look() -> None:
        here.info("locals")
        here.blame("out_ptr[3]")
        said.append(capsys.readouterr().out)
        assert out[3] == 0  # the answer is that of the whole launch, memory that of this moment
        with pytest.raises(RuntimeError, match="this only looks"):
            here.run("step")

    with triton.machine("step"):
        looked_at[(1,)](x, out, tl.constexpr(look), B=8)
    assert "fp32[8]" in said[0] and "out_ptr[3] = 3, written last by" in said[0]
    assert out[3] == 3


def test_outside_of_a_kernel_here_says_so() -> None:
    with pytest.raises(RuntimeError, match="no kernel is running here"):
        here.info("args")


class Shell:
    """What is asked of IPython's."""

    def __init__(self, **names: Any) -> None:
        self.user_ns = names
        self.magics: dict[str, Any] = {}

    def transform_cell(self, text: str) -> str:
        return text + "\n"

    def register_magic_function(self, magic: Any, kind: str, name: str) -> None:
        self.magics[name] = magic


def test_magics_debug_check_and_post_mortem(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, out = given()
    shell = Shell(total=total, x=x, out=out)
    ipython.load_ipython_extension(shell)
    magic = shell.magics["blockstep"]
    lines = iter(["next", "print part", "uncatch", "continue", "continue"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    magic("debug --program 2 total[(4,)](x, out, BLOCK=8)")
    assert "<fp32 8.>" in capsys.readouterr().out and out[0] == 32
    magic("check", "total[(4,)](x, out, BLOCK=8)\n")
    assert "1 error in 1 launch" in capsys.readouterr().out
    lines = iter(["print part", "quit"])
    magic("post_mortem")
    assert "<fp32 8.>" in capsys.readouterr().out
    with pytest.raises(ValueError, match="%blockstep debug"):
        magic("nosuch")


def test_magics_in_ipython_itself(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("IPython", reason="IPython is no dependency")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    x, out = given()
    shell.user_ns.update(total=total, x=x, out=out)
    shell.run_line_magic("load_ext", "blockstep.debugger.ipython")
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    shell.run_line_magic("blockstep", "debug total[(4,)](x, out, BLOCK=8)")
    shell.run_cell("%%blockstep check\ntotal[(4,)](x, out, BLOCK=8)")
    said = capsys.readouterr().out
    assert "program instance (0, 0, 0)" in said and "1 error in 1 launch" in said

"""`blockstep profile`: what is counted for kernels that everybody can count, and how it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from blockstep.commandline import main
from blockstep.runtime import redirect, session

SCRIPT = """\
import numpy as np, triton, triton.language as tl

@triton.jit
def columns(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows * stride)
    tl.store(out_ptr + rows, x)

@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))

x = np.ones((1024, 32), np.float32)
out = np.empty(1024, np.float32)
columns[(8,)](x, out, 32, BLOCK=128)
copy[(2,)](x, out, BLOCK=128)
copy[(4,)](x, out, BLOCK=128)
"""

STRIDED = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry strided()
.reqntid 32
{
    .reg .b32 %r<4>;
    .shared .align 16 .b8 memory[4096];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    mad.lo.u32 %r2, %r0, 128, %r1;
    st.shared.u32 [%r2], %r0;
    ret;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "strided.ptx").write_text(STRIDED)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    session.set_process(None)
    redirect.uninstall()


def profiled(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The kernels of a profile, by name."""
    assert main(["profile", *words, "--json", "-"]) == 0
    return {k["kernel"]: k for k in json.loads(capsys.readouterr().out)["kernels"]}


def test_requests_and_sectors_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = profiled(capsys, "script.py")
    load, store = (next(x for x in found["columns"]["lines"] if x["line"] == n) for n in (6, 7))
    assert load["global"] == {"requests": 32, "sectors": 1024, "least": 128, "bytes": 4096}
    assert store["global"] == {"requests": 32, "sectors": 128, "least": 128, "bytes": 4096}
    assert load["source"] == "x = tl.load(x_ptr + rows * stride)"
    assert load["diagnosis"] == [
        "global: stride 128 bytes from lane to lane: 32 sectors a request, 4 would do"
    ]
    assert store["diagnosis"] == [] and found["columns"]["lines"][0] is not store


def test_launches_of_a_kernel_are_added_up(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = profiled(capsys, "script.py", "--kernel", "copy")["copy"]
    assert copy["launches"] == 2
    (line,) = [line for line in copy["lines"] if "global" in line]
    assert line["global"]["bytes"] == 2 * 6 * 128 * 4
    assert copy["instructions"] == sum(line["instructions"] for line in copy["lines"])


def test_the_table_begins_with_the_worst_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "script.py", "--kernel", "columns", "--lines", "1"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"columns: 1 launch, [\d,]+ thread-instructions", told)
    assert "| x = tl.load(x_ptr + rows * stride)" in told and "tl.store" not in told
    assert "= global: stride 128 bytes" in told and "more (--lines)" in told


def test_bank_conflicts_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = profiled(capsys, "strided.ptx", "--args")["strided"]
    assert found["instructions"] == 5 * 32
    assert found["lines"][0]["shared"] == {
        "requests": 1, "wavefronts": 32, "least": 1, "bytes": 128,
    }  # fmt: skip
    assert found["lines"][0]["diagnosis"] == [
        "shared: bank conflicts, stride 128 bytes from lane to lane: "
        "32 wavefronts a request, 1 would do"
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("script.py --kernel none", "launched no kernel 'none'; it launched: columns, copy"),
        ("--machine grid script.py", "the ptx machine counts, not the grid machine"),
        ("gone.py", "no script 'gone.py' here"),
        ("strided.ptx --args 3", "--args has 1 arguments and the kernel takes 0"),
    ],
)
def test_wrong_words_are_answered(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert main(["profile", *words.split()]) == 2
    assert message in capsys.readouterr().err

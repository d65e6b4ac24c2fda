"""`blockstep precision` as somebody types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commandline.test_commandline import said

SCRIPT = """\
import numpy as np, triton, triton.language as tl

@triton.jit
def halve(x_ptr, out_ptr, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(T).to(tl.float32) * 0.5)

x = np.linspace(0.1, 1.7, 16, dtype=np.float32)
halve[(1,)](x, np.zeros(16, np.float32), N=16, T=tl.float16)
"""
X = np.linspace(0.1, 1.7, 16, dtype=np.float32)


def test_the_dearest_decision_is_told_with_what_to_write(tmp_path: Path) -> None:
    done = said(tmp_path, "precision", "scale.py", script=SCRIPT)
    assert done.returncode == 0
    assert "1. scale.py:6:27: `tl.load(x_ptr + i)` is rounded to fp16" in done.stdout
    assert "help: keep float32: tl.load(x_ptr + i) without .to(...)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_reference_that_rounding_explains_ends_with_0(tmp_path: Path) -> None:
    np.save(tmp_path / "right.npy", X.astype(np.float64) * 0.5)
    done = said(
        tmp_path, "precision", "scale.py", "--reference", "out_ptr=right.npy", script=SCRIPT
    )
    assert done.returncode == 0
    assert "drift: " in done.stdout


def test_a_reference_that_it_does_not_explain_ends_with_1(tmp_path: Path) -> None:
    np.save(tmp_path / "wrong.npy", X * 0.25)
    done = said(
        tmp_path, "precision", "--reference", "out_ptr=wrong.npy", "scale.py", script=SCRIPT
    )
    assert done.returncode == 1
    assert "bug: 16 of 16 elements of `out_ptr`" in done.stdout


def test_a_reference_for_what_nothing_writes_ends_with_2(tmp_path: Path) -> None:
    np.save(tmp_path / "right.npy", X)
    done = said(tmp_path, "precision", "--reference", "y=right.npy", "scale.py", script=SCRIPT)
    assert done.returncode == 2
    assert "--reference y: no launch that was measured writes it" in done.stderr


def test_formats_in_a_table_and_a_picture(tmp_path: Path) -> None:
    words = ("--dtypes", "fp8e4nv,fp8e5,bf16,fp16,fp32", "--svg", "formats.svg")
    done = said(tmp_path, "precision", "scale.py", *words, "--json", "formats.json", script=SCRIPT)
    assert done.returncode == 0, done.stderr
    assert "halve, grid (1, 1, 1): the value of `T` switched" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if "#" in line] == [
        "fp8e4nv", "fp8e5", "bf16", "fp16",
    ]  # fmt: skip
    assert (tmp_path / "formats.svg").read_text().startswith("<svg")
    (table,) = json.loads((tmp_path / "formats.json").read_text())
    assert [row["format"] for row in table["rows"]][-1] == "fp32"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dtypes", "fp12"], "'fp12' is no float format"),
        (["--svg", "a.svg"], "--svg is the picture of --dtypes"),
        (["--reference", "x"], "--reference is NAME=FILE.npy, not 'x'"),
    ],
)
def test_words_that_say_nothing_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    done = said(tmp_path, "precision", "scale.py", *words, script=SCRIPT)
    assert done.returncode == 2
    assert message in done.stderr


def test_costs_as_data(tmp_path: Path) -> None:
    done = said(tmp_path, "precision", "--json", "-", "scale.py", script=SCRIPT)
    (report,) = json.loads(done.stdout)
    first = report["costs"][0]
    assert (first["line"], first["column"], first["what"]) == (6, 27, "conversion")
    assert first["before"]["rms"] > first["after"]["rms"]


def test_a_launch_without_floats_is_not_compared(tmp_path: Path) -> None:
    script = SCRIPT.replace("np.float32", "np.int32").replace(", T=tl.float16", ", T=tl.int32")
    done = said(tmp_path, "precision", "--dtypes", "fp16", "scale.py", script=script)
    assert "not compared: `halve` takes neither a float format nor a float array" in done.stdout

"""The text of diagnostics: the examples of the house style, and the edges of the renderer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from blockstep.diagnostics import describe, render, summary
from blockstep.findings import (
    Argument,
    Finding,
    Lanes,
    Mark,
    OutOfBounds,
    RaceFound,
    ReadUnwritten,
    Report,
    Severity,
    Span,
    Touch,
    UndefinedReached,
    UnsupportedUse,
)
from tests.diagnostics.places import Source, source_file

KERNEL = """
@triton.jit
def kernel(x_ptr, total_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + offs)
    m = tl.load(x_ptr + offs, mask=offs < n)
    old = tl.load(total_ptr)
    s = tl.sum(v, axis=0)
    tl.store(total_ptr, old + s)
    tl.store(
        out_ptr
        + offs,
        m,
    )
"""
RUN = """
out = numpy.empty(8, numpy.float16)
kernel[(8,)](x, total, out, n, BLOCK=128)
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """The kernel above, in the current folder."""
    monkeypatch.chdir(tmp_path)
    source_file(tmp_path, RUN, "run.py")
    return source_file(tmp_path, KERNEL)


def host(folder: Path) -> Span:
    """The line of the launch."""
    return Span(str(folder / "run.py"), 2, 0, 2, 0, "<module>")


def tail(size: int, first: int) -> Lanes:
    """The last positions of a block, from `first` on."""
    return Lanes.of(np.arange(size) >= first)


def past_the_end(kernel: Source, text: str = "tl.load(x_ptr + offs)") -> OutOfBounds:
    """Elements 1000..1023 of an array of 1000."""
    return OutOfBounds(
        span=kernel.at(text),
        kernel="kernel",
        program=(7, 0, 0),
        grid=(8, 1, 1),
        op="load",
        where="end",
        lanes=tail(128, 104),
        argument=Argument("x", "float32[1000]", (1000,), (1,), 4, host(kernel.path.parent)),
        offsets=(896, 1023),
        first=1000,
        scalars={"n": 1000},
    )


def expect(event_or_finding: object, wanted: str) -> None:
    """The whole text of one diagnostic."""
    finding = (
        event_or_finding if isinstance(event_or_finding, Finding) else describe(event_or_finding)  # type: ignore[arg-type]
    )
    assert render(finding) == dedent(wanted).strip("\n")


def test_a_load_past_the_end_reads_like_the_house_example(kernel: Source) -> None:
    expect(
        past_the_end(kernel),
        """
        error[out-of-bounds]: this load reads past the end of `x`
          --> add.py:4:9 in kernel
         4 |     v = tl.load(x_ptr + offs)
           |         ^^^^^^^^^^^^^^^^^^^^^ elements 104..127 of 128 are outside `x`
           = program instance (7, 0, 0) of grid (8, 1, 1); offs there is 896..1023
           = `x` is float32[1000]; the first element out of range is 1000 (byte 4000 of 4000)
        note: `x` was passed here
          --> run.py:2  kernel[(8,)](x, total, out, n, BLOCK=128)
        help: mask the tail:  tl.load(x_ptr + offs, mask=offs < n)        # n = 1000 here
        """,
    )


def test_a_race_shows_both_places_under_one_arrow(kernel: Source) -> None:
    load, store = kernel.at("tl.load(total_ptr)"), kernel.at("tl.store(total_ptr, old + s)")
    event = RaceFound(
        span=store,
        kernel="kernel",
        program=(1, 0, 0),
        argument=Argument("total", "float32[1]", (1,), (1,), 4),
        first=Touch("load", load, (0, 0, 0), ((0,),), 1),
        second=Touch("store", store, (1, 0, 0), ((0,),), 1),
        seed=3,
    )
    expect(
        event,
        """
        error[race]: `total` is read and written by two program instances, and nothing orders them
          --> add.py:8:5 in kernel
         6 |     old = tl.load(total_ptr)
           |           ^^^^^^^^^^^^^^^^^^ (1) read of total[0] by program instance (0, 0, 0)
         8 |     tl.store(total_ptr, old + s)
           |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ (2) write of total[0] by program instance (1, 0, 0)
           = `total` is float32[1]; this is a write after read at 1 element
           = program instances of one launch are unordered; only an atomic with acquire/release semantics links them
        help: tl.atomic_add(total_ptr, s), or give each program instance its own element and add afterwards
        note: seen with --seed 3
        """,
    )


def test_unwritten_bytes_are_drawn(kernel: Source) -> None:
    folder = kernel.path.parent
    made = dataclasses.replace(host(folder), line=1)
    event = ReadUnwritten(
        span=kernel.at("tl.load(x_ptr + offs)"),
        op="load",
        argument=Argument("out", "float16[8]", (8,), (1,), 2, None, "numpy.empty", made),
        lanes=tail(8, 4),
        unwritten=8,
        drawing=(0, 0x3C) * 4 + (None,) * 8,
    )
    expect(
        event,
        """
        error[uninitialised]: this load reads 8 bytes of `out` that nothing has written
          --> add.py:4:9 in kernel
         4 |     v = tl.load(x_ptr + offs)
           |         ^^^^^^^^^^^^^^^^^^^^^ elements 4..7 of 8
           = `out` float16[8], from numpy.empty at run.py:1:   00 3c 00 3c 00 3c 00 3c __ __ __ __ __ __ __ __
        help: store before loading, or allocate with zeros
        """,
    )


def test_an_expression_over_several_lines_is_underlined_on_each(kernel: Source) -> None:
    event = UndefinedReached(
        span=kernel.at("tl.store(\n        out_ptr\n        + offs,\n        m,\n    )"),
        mark=Mark("masked-load", kernel.at("tl.load(x_ptr + offs, mask=offs < n)")),
        sink="store",
        lanes=tail(128, 104),
        argument=Argument("out"),
    )
    text = render(describe(event)).splitlines()
    assert text[2:6] == [
        " 5 |     m = tl.load(x_ptr + offs, mask=offs < n)",
        "   |         " + "^" * 36 + " masked off here, with no `other`",
        " 9 |     tl.store(",
        "   |     ^^^^^^^^^",
    ]
    assert "   |     ^ elements 104..127 of 128 are undefined" in text
    assert "help: tl.load(x_ptr + offs, mask=offs < n, other=0.0)" in text


def test_an_expression_over_many_lines_is_shortened(tmp_path: Path) -> None:
    body = ",\n".join(f"    a{n}" for n in range(20))
    source = source_file(tmp_path, f"f(\n{body}\n)\n")
    text = render(
        Finding("compile", Severity.ERROR, "too many", Span(str(source.path), 1, 1, 22, 2))
    )
    assert "a0" in text and "..." in text and "a10" not in text and "a19" in text


def test_a_missing_source_file_costs_only_the_source_lines() -> None:
    span = Span("/nowhere/gone.py", 14, 9, 14, 20, "kernel")
    expect(
        Finding(
            "division",
            Severity.ERROR,
            "an integer division by zero",
            span,
            label="the divisor is 0",
        ),
        """
        error[division]: an integer division by zero
          --> /nowhere/gone.py:14:9 in kernel
           = the divisor is 0
        """,
    )


def test_an_unknown_column_underlines_the_line(kernel: Source) -> None:
    span = Span(str(kernel.path), 6, function="kernel")
    text = render(Finding("compile", Severity.ERROR, "no", span))
    assert "--> add.py:6 in kernel" in text
    assert "   |     ^^^^^^^^^^^^^^^^^^^^^^^^\n" in text + "\n"


def test_carets_stand_under_wide_characters_and_tabs(tmp_path: Path) -> None:
    source = source_file(tmp_path, "if True:\n\tx = f('温度', y)\n")
    text = render(Finding("compile", Severity.ERROR, "no", source.at("y"))).splitlines()
    assert text[2:] == [" 2 |     x = f('温度', y)", "   |                   ^"]


def test_the_gutter_grows_with_the_line_numbers(tmp_path: Path) -> None:
    source = source_file(tmp_path, "\n" * 1 + "#\n" * 1233 + "x = y\n")
    text = render(Finding("compile", Severity.ERROR, "no", source.at("y"), facts=("why",)))
    assert text.splitlines()[1].startswith("    --> ")
    assert "1234 | x = y\n     |     ^\n     = why" in text


def test_repeats_are_counted_at_the_end(kernel: Source) -> None:
    finding = dataclasses.replace(describe(past_the_end(kernel)), occurrences=64, programs=64)
    assert render(finding).endswith("note: seen 64 times, in 64 program instances")


def test_a_device_function_names_its_kernel_and_its_call(kernel: Source) -> None:
    inner = dataclasses.replace(kernel.at("tl.sum(v, axis=0)"), function="total")
    finding = Finding(
        "compile",
        Severity.ERROR,
        "no",
        inner,
        kernel="kernel",
        callers=(kernel.at("tl.load(total_ptr)"),),
    )
    text = render(finding)
    assert "in total, called from kernel" in text
    assert "note: called from here\n  --> add.py:6  old = tl.load(total_ptr)" in text


def test_a_limit_of_ours_is_not_called_an_error(kernel: Source) -> None:
    text = render(describe(UnsupportedUse(span=kernel.at("tl.sum(v, axis=0)"), what="inline PTX")))
    assert text.startswith("unsupported: blockstep cannot run inline PTX\n")
    assert text.endswith("note: a limit of blockstep, not a bug in your kernel")


def test_colour_adds_nothing_but_escapes(kernel: Source) -> None:
    import re

    finding = describe(past_the_end(kernel))
    coloured = render(finding, color=True)
    assert coloured != render(finding)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(finding)


def test_the_summary_counts_by_severity(kernel: Source) -> None:
    report = Report()
    for number in range(3):
        report.begin_launch("kernel", (8, 1, 1))
        span = Span("a.py", number + 1)
        severity = Severity.WARNING if number == 2 else Severity.ERROR
        report.add(Finding("race", severity, "no", span))
    assert summary(report) == "2 errors, 1 warning in 3 launches"


def test_the_summary_of_a_clean_run() -> None:
    report = Report()
    report.begin_launch("kernel", (1, 1, 1))
    assert summary(report) == "no findings in 1 launch"

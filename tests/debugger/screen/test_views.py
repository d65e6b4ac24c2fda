"""Source, names, lists, and the lines around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockstep.debugger.moments import Born, Frame, Reason, Stop, Strayed, Written
from blockstep.debugger.points import Breakpoint
from blockstep.debugger.session import Session
from blockstep.debugger.views import lists, status
from blockstep.debugger.views.blocks import Block, block_of, summary
from blockstep.debugger.views.highlight import highlighted
from blockstep.debugger.views.names import names
from blockstep.debugger.views.numbers import full, short, size
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.source import Place, source
from blockstep.debugger.views.text import cut, plain, width_of, wrap
from blockstep.findings import Finding, Party, Severity, Span
from blockstep.runtime.ladder.launch import take
from tests.debugger import kernels

PLAIN = Palette()
CODE = '''@triton.jit
def add(x_ptr, n):  # sums
    """Two
    lines."""
    y = tl.load(x_ptr) * 2.5
    for i in range(n):
        y += 1
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    return str(path)


def test_highlighting_changes_no_character() -> None:
    for text in (
        CODE,
        Path(kernels.__file__).read_text(),
        "def f(:\n  '''open\n",
        "\tx = 'é'\n",
        "",
    ):
        assert [plain(line) for line in highlighted(text)] == [
            line.rstrip() for line in text.expandtabs(4).splitlines()
        ]


def test_highlighting_knows_comments_strings_numbers_and_words() -> None:
    found = {text: style for line in highlighted(CODE) for style, text in line}
    assert found["# sums"] == "class:code.comment"
    assert found['    lines."""'] == found['"""Two'] == "class:code.string"
    assert found["2.5"] == "class:code.number"
    assert (found["for"], found["range"]) == ("class:code.keyword", "class:code.builtin")
    assert (found["add"], found["tl"]) == ("class:code.definition", "class:code.language")


def test_the_margin_has_the_line_breakpoints_and_findings(file: str) -> None:
    points = [
        Breakpoint(1, file, 5),
        Breakpoint(2, file, 6, enabled=False),
        Breakpoint(3, file, 7, condition="n > 1"),
    ]
    shown = source(Place(file, line=6), points, {7}, 60, 7, PLAIN)
    assert shown.text.split("\n")[4:] == [
        "● 5     y = tl.load(x_ptr) * 2.5",
        "○▶6     for i in range(n):",
        "◆ 7!        y += 1",
    ]
    ascii_rows = source(Place(file, line=6), points, {7}, 60, 7, Palette(ascii=True)).text
    assert [row[:4] for row in ascii_rows.split("\n")[4:]] == ["B 5 ", "b>6 ", "C 7!"]


def test_the_current_line_is_in_sight_and_long_lines_are_cut(file: str) -> None:
    shown = source(Place(file, line=7), [], (), 20, 3, PLAIN)
    assert shown.text == "  5     y = tl.load…\n  6     for i in ra…\n ▶7         y += 1"
    assert shown.at(2, 5) == 7
    assert all(width_of(line) <= 20 for line in shown.lines)


def test_a_source_that_cannot_be_read_is_said() -> None:
    assert "cannot be read" in source(Place("/nowhere/at.py", 3), [], (), 60, 5, PLAIN).text


def test_names_show_type_range_nan_and_undefined_elements() -> None:
    x = np.arange(100, dtype=np.float32)
    x[97] = np.nan
    session = Session(take(kernels.add, (x, x, x.copy(), 100), {"BLOCK": 16}, (7,)))
    session.start((6, 0, 0))
    for _ in range(4):
        stop = session.next()
    shown = names(stop.frames[-1].locals, "x", 70, 12, PLAIN)
    session.close()
    rows = {row.split()[0]: row.split() for row in shown.text.split("\n")}
    assert rows["offs"] == ["offs", "int32[16]", "96", "..", "111"]
    assert rows["mask"] == ["mask", "int1[16]", "4", "of", "16", "true"]
    assert rows["x"] == ["x", "fp32[16]", "96", "..", "99", "1", "12"]
    assert rows["BLOCK"] == ["BLOCK", "constexpr", "16"]
    assert rows["x_ptr"][-3:] == ["x_ptr", "+", "0"]


def test_undefined_elements_are_no_part_of_the_range() -> None:
    lost = np.array([False, True, True])
    found = summary(Block("x", "fp32[3]", np.array([1.0, np.nan, 99.0]), lost))
    assert (found.low, found.high, found.nans, found.undefined) == (1.0, 1.0, 0, 2)
    assert block_of("n", 3) is None


def test_a_finding_that_is_chosen_is_told_in_full() -> None:
    span = Span("k.py", 22)
    party = Party("(1) read of total[0]", Span("k.py", 18), program=(0, 0, 0))
    found = Finding(
        "race", Severity.ERROR, "`total` is read and written", span, program=(1, 0, 0),
        facts=("program instances are unordered",), help=("tl.atomic_add(total_ptr, s)",),
        related=(party,),
    )  # fmt: skip
    other = Finding("grid", Severity.WARNING, "too large", span)
    text = lists.findings([found, other], 0, 60, 12, PLAIN).text
    assert text.split("\n") == [
        "error[race]: `total` is read and written",
        "  k.py:22 in (1, 0, 0)",
        "  = program instances are unordered",
        "  (1) read of total[0] by (0, 0, 0): k.py:18",
        "  help: tl.atomic_add(total_ptr, s)",
        "warning[grid]: too large",
        "  k.py:22",
    ]
    assert "=" not in lists.findings([found, other], 1, 60, 12, PLAIN).text


def test_breakpoints_say_when_they_hold() -> None:
    points = [
        Breakpoint(1, "k.py", 5, condition="n > 3", hits=2),
        Breakpoint(2, function="f", enabled=False),
    ]
    text = lists.points(points, ["nan", "finding"], 60, 5, PLAIN).text
    assert text == "● 1 k.py:5 if n > 3, met 2 times\n○ 2 f\nstops also at: nan, finding"


def test_the_innermost_call_stands_first(file: str) -> None:
    frames = [Frame("outer", file, 6, {}, {}), Frame("inner", file, 7, {}, {})]
    shown = lists.calls(frames, 0, 200, 5, PLAIN)
    first, second = shown.text.split("\n")
    assert first.startswith("  inner") and first.endswith("y += 1")
    assert second.startswith("▶ outer")
    assert (shown.at(0, 3), shown.at(1, 3)) == (1, 0)


def test_the_history_says_what_it_takes() -> None:
    line = lists.history((41, 100), 12 << 20, 256 << 20, 0, 80, PLAIN)
    assert plain(line).startswith("step 42 of 100 ━")
    assert plain(line).endswith("12.0 MiB of 256.0 MiB")
    assert plain(lists.history((41, 100), 1, 2, 30, 80, PLAIN)).endswith("from 31 on")


def test_why_it_stopped_is_said_with_the_numbers() -> None:
    written = Written("out", (1, 2), np.float32(0), np.float32(1.5), (0, 0, 0), "k.py", 3)
    born = Born("nan", "log", (0, 0, 0), (5,), float("nan"), (-1.0,), "k.py", 3)
    assert status.why(Stop(Reason.WATCH, (0, 0, 0), (), written)) == "out[1, 2] written: 0 -> 1.5"
    assert (
        status.why(Stop(Reason.BORN, (0, 0, 0), (), born)) == "first NaN, from log at element [5]"
    )
    assert (
        status.why(Stop(Reason.EXCEPTION, (0, 0, 0), (), ValueError("no\nmore")))
        == "ValueError: no"
    )
    strayed = Strayed("sub", (0, 0, 0), (5,), 12.5, 1.0, 1.1, "k.py", 3)
    told = status.why(Stop(Reason.ERROR, (0, 0, 0), (), strayed))
    assert told == "sub at element [5] is 12.5 ulp off"
    assert status.why(Stop(Reason.LINE, (0, 0, 0), ())) == ""
    assert status.why(None) == "not started"


def test_the_title_says_that_one_stands_in_the_past() -> None:
    stop = Stop(Reason.LINE, (3, 0, 0), (), past=True)
    line = status.title("add", (8, 1, 1), stop, False, 60, PLAIN)
    assert plain(line) == " add  (3, 0, 0) of grid (8, 1, 1)  in the past"
    assert width_of(line) == 60
    assert "Ctrl-C" in plain(status.title("add", (8, 1, 1), stop, True, 80, PLAIN))


def test_help_takes_as_many_columns_as_it_needs() -> None:
    sections = [("Run", [(f"F{n}", f"does {n}") for n in range(12)]), ("Look", [("?", "help")])]
    low = status.help_page(sections, 80, 10)
    assert len(low.lines) <= 10
    for word in ("does 0", "does 11", "help"):
        assert word in low.text
    assert len(status.help_page(sections, 80, 40).lines) == 15
    split = status.help_page([("Run", [("F1", "runs")] * 3), ("Look", [("?", "help")] * 4)], 80, 5)
    assert [row.split()[0] for row in split.text.split("\n")] == ["Run", "F1", "F1", "F1", "?"]
    assert "Look" in split.text.split("\n")[0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float32(0.1), "0.1"), (1234567.0, "1234567"), (1.5e-7, "1.5e-7"), (-2.25e12, "-2.25e12"),
        (np.nan, "NaN"), (-np.inf, "-Inf"), (True, "True"), (np.int32(-5), "-5"),
    ],
)  # fmt: skip
def test_numbers_are_short(number: object, text: str) -> None:
    assert short(number) == text
    assert len(short(number)) <= 9


def test_numbers_are_told_in_full_where_one_is_asked_for() -> None:
    assert full(np.float32(1) / np.float32(3)) == "0.333333343"
    assert full(np.int64(2**53 + 1)) == "9007199254740993"
    assert (size(100), size(3 << 20)) == ("100 bytes", "3.0 MiB")


def test_text_is_cut_and_wrapped() -> None:
    assert plain(cut([("a", "abc"), ("b", "defg")], 5)) == "abcd…"
    assert wrap("one two three", 8, "  ") == ["one two", "  three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]

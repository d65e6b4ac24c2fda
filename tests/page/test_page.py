"""The page as text: nothing escapes, nothing is lost, and its size has an end."""

import json
import linecache
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep
from blockstep import language as tl
from blockstep.findings import Finding, Report, Severity, Span
from blockstep.findings.captured import SEVERAL, SIDE, State, picture_of_memory, raster_of
from blockstep.page.html import Html, tag
from tests.commandline.test_commandline import said


@blockstep.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs), mask=offs < n)


@blockstep.jit
def one_each(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid)


@blockstep.jit
def race(out_ptr, x_ptr):
    tl.store(out_ptr + tl.program_id(0) // 2, tl.load(x_ptr + tl.program_id(0)))


def text(page: str) -> str:
    """What a reader reads."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", "", body))


def checked(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> Report:
    with blockstep.check(pictures=True) as report:
        kernel[grid](*arguments, **constants)
    return report


def test_a_card_has_every_line_of_the_diagnostic() -> None:
    x = np.zeros(100, np.float32)
    report = checked(scale, (4,), x, np.zeros_like(x), 100, BLOCK=32)
    shown = " ".join(text(report.to_html()).split())
    for line in str(report.findings[0]).splitlines():
        assert " ".join(line.split()).removeprefix("= ").removeprefix("help: ") in shown


NASTY = "</script><script>alert('x')</script>&\"<img src=x onerror=alert(1)>"


def test_no_text_of_a_program_becomes_a_tag() -> None:
    file = f"<nasty {NASTY}>"
    lines = [f"def f():  # {NASTY}\n", f"    x = '{NASTY}'\n"]
    linecache.cache[file] = (len("".join(lines)), None, lines, file)
    span = Span(file, 2, 5, 2, 6, NASTY)
    finding = Finding(
        "race", Severity.ERROR, NASTY, span, NASTY, NASTY, facts=(NASTY,), help=(NASTY,),
        notes=(NASTY,), host=span, launch=1, argument=NASTY,
    )  # fmt: skip
    report = Report()
    report.begin_launch(NASTY, (1, 1, 1), NASTY, span)
    report.add(finding)
    page = report.to_html(title=NASTY)
    assert page.count("<script>") == 1 and page.count("</script>") == 1
    assert "<img" not in page and "onerror=alert(1)>" not in page
    assert text(page).count(NASTY) >= 8
    assert "<script" not in report._repr_html_() and "<script" not in finding._repr_html_()


def test_a_file_name_and_a_source_with_tags_are_text(tmp_path: Path) -> None:
    script = (
        "import numpy as np, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def k(x):  # <script>alert(1)</script>\n"
        "    tl.store(x + 9, 1)\n"
        "k[(1,)](np.zeros(4, np.int32))\n"
    )
    (tmp_path / "<b>&.py").write_text(script)
    done = said(tmp_path, "check", "--html", "page.html", "<b>&.py")
    assert done.returncode == 1
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in page and page.count("<script") == 1
    assert "<script>alert(1)</script>" in text(page) and "check <b>&.py" in text(page)


def test_a_control_character_is_replaced() -> None:
    assert (
        tag("p", "a\x00b\x1b[31mc")
        == "<p>a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31mc</p>"
    )
    assert tag("p", Html("<b>"), "<b>", title='"') == '<p title="&quot;"><b>&lt;b&gt;</p>'


def test_a_million_instances_make_a_small_page() -> None:
    out = np.zeros(1 << 20, np.int32)
    page = checked(one_each, (1 << 20,), out).to_html()
    assert len(page) < 400_000
    assert "a cell stands for 256 program instances: the gravest" in page
    assert (
        "1048576 of 1048576 elements written in this launch, by 1048576 program instances" in page
    )


def test_the_worst_map_of_memory_is_bounded() -> None:
    from blockstep.page.maps import memory_map

    writers = np.random.default_rng(0).integers(0, 1 << 20, (SIDE, SIDE))
    assert len(memory_map(picture_of_memory("x", "", writers), (1 << 20, 1, 1), [])) < 200_000


def test_a_grid_shows_where_a_race_was_and_who_took_part() -> None:
    x = np.arange(6, dtype=np.float32)
    captured = checked(race, (6,), np.zeros(3, np.float32), x).captured[0]
    assert captured.picture is not None
    states = captured.picture.cells.reshape(-1).tolist()
    assert states == [State.PARTNER, State.FOUND, *[State.DONE] * 4]  # one pair stands for all
    (memory,) = captured.memory
    assert memory.name == "out_ptr" and memory.cells.tolist() == [[1, 3, 5]]


def test_a_cell_of_several_writers_says_so() -> None:
    writers = np.arange(SIDE * SIDE * 2) // 3
    picture = picture_of_memory("x", "", writers)
    assert picture.raster.together == 2
    assert picture.cells[0, 0] == 0 and picture.cells[0, 1] == SEVERAL


@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (5000,), (1, 7), (7, 1), (3, 4), (65, 3), (3, 200), (2, 3, 4), (0, 4)]
)
def test_every_item_of_a_raster_lies_in_one_cell(shape: tuple[int, ...]) -> None:
    raster = raster_of(shape)
    items = np.arange(int(np.prod(shape))).reshape(shape)
    groups = raster.groups(items, -1)
    assert groups.shape == (raster.height, raster.width, raster.together)
    assert sorted(groups[groups >= 0].tolist()) == list(range(items.size))
    assert raster.height <= SIDE and raster.width <= SIDE


def test_memory_is_as_the_launch_left_it() -> None:
    x, total = np.ones(8, np.float32), np.zeros(1, np.float32)

    @blockstep.jit
    def add(total_ptr, x_ptr):
        tl.atomic_add(total_ptr, tl.load(x_ptr + tl.program_id(0)))

    checked(add, (8,), total, x)
    assert total[0] == 8


def test_a_launch_that_raises_keeps_its_grid() -> None:
    @blockstep.jit
    def fails(x_ptr):
        tl.static_assert(False, "not today")

    with blockstep.check(pictures=True) as report, pytest.raises(blockstep.errors.TritonError):
        fails[(2,)](np.zeros(1, np.float32))
    assert "not today" in text(report.to_html())


def test_launches_past_the_limit_are_counted_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockstep.runtime.capture.MOST", 1)
    out = np.zeros(3, np.float32)
    with blockstep.check(pictures=True) as report:
        for _ in range(2):
            race[(6,)](out, np.arange(6, dtype=np.float32))
    assert len(report.captured) == 1 and len(report.launches) == 2
    assert 'id="launch-2"' in report.to_html()


def test_a_clean_report_says_so() -> None:
    report = checked(one_each, (4,), np.zeros(4, np.int32))
    assert "No findings" in text(report.to_html())


def test_nothing_is_captured_unasked() -> None:
    with blockstep.check() as report:
        one_each[(4,)](np.zeros(4, np.int32))
    assert report.captured == []


@pytest.mark.parametrize(
    ("command", "words"),
    [("verify", ("Rungs", "step")), ("precision", ("Precision by line", "introduced"))],
)
def test_other_commands_write_pages_too(
    tmp_path: Path, command: str, words: tuple[str, ...]
) -> None:
    script = (
        "import numpy as np, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def k(x):\n"
        "    offs = x + tl.arange(0, 8)\n"
        "    tl.store(offs, tl.exp(tl.load(offs)))\n"
        "k[(1,)](np.ones(8, np.float32))\n"
    )
    done = said(tmp_path, command, "--html", "page.html", "scale.py", script=script)
    page = text((tmp_path / "page.html").read_text())
    assert all(word in page for word in words), done.stderr
    assert ("No findings" in page) == (command == "verify")


@pytest.mark.parametrize("name", ["race", "unwritten_memory", "never_written"])
def test_making_pictures_changes_no_verdict(tmp_path: Path, name: str) -> None:
    example = (Path(__file__).parents[2] / "examples/bugs" / f"{name}.py").read_text()
    found = []
    for more in ([], ["--html", "page.html"]):
        said(tmp_path, "check", "--json", "found.json", *more, "scale.py", script=example)
        found.append(json.loads((tmp_path / "found.json").read_text())["findings"])
    assert found[0] and found[0] == found[1]

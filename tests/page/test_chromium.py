"""The page in a real browser: what stands where, in both colours, without a script, without a network."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import blockstep
from blockstep import language as tl
from tests.page.chromium import Browser, browser


@blockstep.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs), mask=offs < n)


@blockstep.jit
def count(total_ptr, x_ptr):
    old = tl.load(total_ptr)
    tl.store(total_ptr, old + tl.load(x_ptr + tl.program_id(0)))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x = np.ones(100, np.float32)
    out, total = np.zeros_like(x), np.zeros(1, np.float32)
    with blockstep.check(pictures=True, precision=True) as report:
        scale[(4,)](x, out, 100, BLOCK=32)
        count[(5,)](total, x)
    file = tmp_path_factory.mktemp("page") / "a <b> & 'c'.html"
    report.to_html(file, title="<script>alert(1)</script>")
    return file


def test_it_asks_for_nothing_but_itself_and_nothing_complains(
    chromium: Browser, page: Path
) -> None:
    chromium.open(page)
    assert chromium.value("document.title") == "<script>alert(1)</script>"
    assert chromium.complaints() == []
    assert chromium.requests() == [page.as_uri()]


def test_every_link_leads_somewhere(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    lost = chromium.value(
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
        ".filter(h => !h || !h.startsWith('#') || !document.getElementById(h.slice(1)))"
    )
    assert lost == []
    assert chromium.value("document.querySelectorAll('.m a').length") >= 3
    doubled = chromium.value(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
        " return ids.filter((id, k) => ids.indexOf(id) !== k); })()"
    )
    assert doubled == []


def test_the_instance_with_the_finding_has_another_colour(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    fill = "getComputedStyle(document.querySelector('svg.grid .{}')).fill"
    for dark in (False, True):
        chromium.dark(dark)
        found = {name: chromium.value(fill.format(name)) for name in ("done", "found", "partner")}
        assert len(set(found.values())) == 3
        assert all(
            colour.startswith("rgb(") and colour != "rgb(0, 0, 0)" for colour in found.values()
        )
    chromium.dark(False)


def test_dark_is_dark_and_light_is_light(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    sums = []
    for dark in (False, True):
        chromium.dark(dark)
        colour = chromium.value("getComputedStyle(document.body).backgroundColor")
        sums.append(sum(map(int, colour[4:-1].split(","))))
    chromium.dark(False)
    assert sums[0] > 600 and sums[1] < 150


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_at_the_side(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width)
    assert chromium.value("document.documentElement.scrollWidth") <= width


def test_keys_go_to_findings_and_through_a_map(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    press = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))"
    chromium.value(press.format("n"))
    assert chromium.value("document.activeElement.id") == "finding-1"
    chromium.value(press.format("n"))
    assert chromium.value("document.activeElement.id") == "finding-2"
    chromium.value("document.querySelector('svg.memory').focus()")
    readout = (
        "document.querySelector('svg.memory').parentElement.querySelector('.readout').textContent"
    )
    assert chromium.value(readout) == "out_ptr[0]: written by program instance (0, 0, 0)"
    for _ in range(32):
        chromium.value(press.format("ArrowRight"))
    assert chromium.value(readout) == "out_ptr[32]: written by program instance (1, 0, 0)"


def test_a_severity_can_be_left_out(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    shown = "document.querySelectorAll('.card:not([hidden])').length"
    before = chromium.value(shown)
    chromium.value("document.querySelector('.chip.error button').click()")
    assert chromium.value(shown) < before


def test_all_of_it_is_there_without_a_script(chromium: Browser, page: Path) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(page)
        text = chromium.value("document.body.innerText")
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "error[out-of-bounds]: this load reads past the end of `x_ptr`" in text
    assert "error[race]" in text
    assert "Launches" in text and "total_ptr float32[1]" in text


def test_it_can_be_printed(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    paper = base64.b64decode(chromium.call("Page.printToPDF", printBackground=True)["data"])
    assert paper.startswith(b"%PDF")


def test_its_picture_is_not_blank(chromium: Browser, page: Path) -> None:
    """`BLOCKSTEP_PICTURES=FOLDER` keeps the pictures, to look at."""
    for dark, width, height in ((False, 1280, 900), (True, 1280, 900), (False, 390, 844)):
        chromium.dark(dark)
        chromium.open(page, width, height)
        data = base64.b64decode(chromium.call("Page.captureScreenshot", format="png")["data"])
        assert len(data) > 20_000
        if folder := os.environ.get("BLOCKSTEP_PICTURES"):
            Path(folder, f"page-{width}-{'dark' if dark else 'light'}.png").write_bytes(data)
    chromium.dark(False)

"""What Jupyter shows of blocks, findings, results and layouts."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import blockstep
from blockstep import language as tl
from blockstep.debugger.session import Session
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.runtime.ladder.launch import take


@blockstep.jit
def look(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    square = x[:, None] * x[None, :]  # noqa: F841
    pointers = x_ptr + offs  # noqa: F841
    half = x.to(tl.bfloat16)  # noqa: F841
    tl.store(out_ptr + offs, x)


@pytest.fixture(scope="module")
def values() -> Any:
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    x[3] = np.nan
    session = Session(take(look, (x, np.zeros(32, np.float32), 20), {"BLOCK": 32}, (1,)))
    session.start((0, 0, 0))
    for _ in range(5):
        stop = session.next()
    found = dict(stop.frames[-1].locals)
    session.close()
    return found


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("br", "hr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def well_formed(html: str) -> str:
    parser = _Balanced()
    parser.feed(html)
    assert parser.open == []
    return html


def test_a_block_has_its_type_range_and_undefined_elements(values: Any) -> None:
    html = well_formed(values["x"]._repr_html_())
    assert "fp32[32]" in html and "-1 to 1" in html and "1 NaN" in html and "12 undefined" in html
    assert html.count('class="u"') == 12
    assert html.count('class="nan"') == 1


def test_a_block_of_two_axes_is_a_heat_map_and_a_cut_table(values: Any) -> None:
    html = well_formed(values["square"]._repr_html_())
    assert 'viewBox="0 0 32 32"' in html
    assert html.count("<tr>") == 1 + 13


def test_pointers_are_offsets_from_their_argument(values: Any) -> None:
    html = well_formed(values["pointers"]._repr_html_())
    assert "x_ptr + 0..31" in html
    assert not re.search(r"\d{9}", html)


def test_short_floats_are_shown_as_numbers(values: Any) -> None:
    assert ">-1</td>" in well_formed(values["half"]._repr_html_())


def test_looking_at_a_value_needs_no_machine(values: Any) -> None:
    assert repr(values["x"]).startswith("<fp32[32]")


def test_a_report_has_each_finding_and_the_summary() -> None:
    with blockstep.check() as report:
        look[(1,)](np.zeros(20, np.float32), np.zeros(32, np.float32), 20, BLOCK=32)
    html = well_formed(report._repr_html_())
    assert "1 error in 1 launch" in html and "error[uninitialised]" in html
    assert "error[uninitialised]" in well_formed(report.findings[0]._repr_html_())


def test_results_of_verify_and_precision_are_tables() -> None:
    arguments = (np.zeros(20, np.float32), np.zeros(32, np.float32), 20)
    climb = blockstep.verify(look, arguments, grid=(1,), BLOCK=32)
    assert ">step</td>" in well_formed(climb._repr_html_())
    measured = blockstep.precision(look, arguments, grid=(1,), BLOCK=32)
    assert "look" in well_formed(measured._repr_html_())


def test_a_layout_says_which_lane_holds_each_element() -> None:
    layout = Layout((4, 32), (1,), (2, 4, 8, 16, 32), (64,))
    html = well_formed(layout._repr_html_())
    assert html.count("<td") == 4 * 32
    assert 'title="lane 1 of warp 0, register 0"' in html
    assert "2 warps, 2 registers a lane" in html


def test_copies_in_a_layout_are_counted() -> None:
    layout = Layout((32,), (), (1, 2, 4, 8, 16), (0,))
    assert "each element has 2 holders" in layout._repr_html_()


def test_a_shared_layout_says_each_elements_address() -> None:
    html = well_formed(SharedLayout((2, 4), (1, 2, 5))._repr_html_())
    addresses = re.findall(r">(\d+)</td>", html)
    assert sorted(map(int, addresses)) == list(range(8))
    assert addresses[4:6] == ["5", "4"]

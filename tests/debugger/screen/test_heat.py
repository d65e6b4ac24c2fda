"""Heat maps: what is on them as plain text, what colours say, what of a large block stays in sight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.debugger.views.blocks import Block
from blockstep.debugger.views.cells import Kind, kinds_of
from blockstep.debugger.views.heat import heat
from blockstep.debugger.views.palette import Depth, Palette, from_environment
from blockstep.debugger.views.planes import Look, moved, paged, turned
from blockstep.debugger.views.text import Shown

STILL = Look(cursor=False)
PLAIN = Palette()


def odd_block() -> Block:
    x = np.arange(-8, 8, dtype=np.float32).reshape(4, 4)
    x[0, 1], x[1, 2], x[1, 3] = np.nan, np.inf, -np.inf
    undefined = np.zeros((4, 4), bool)
    undefined[2, 0] = undefined[3, 3] = True
    return Block("x", "fp32[4, 4]", x, undefined).masked_by(np.arange(4) < 3, "c < 3")


def styles_of(shown: Shown, row: int) -> list[str]:
    return [style for style, text in shown.lines[row] if text.strip(" ") or "bg:" in style]


def test_numbers_masked_undefined_nan_and_infinite_elements_look_different() -> None:
    text = heat(odd_block(), Look(cursor=False, numbers=False), 40, 12, PLAIN).text
    assert text == "\n".join(
        [
            "x fp32[4, 4]  mask c < 3",
            "  0",
            "0 -█NN-▓··",
            "1 -▒-░∞∞··",
            "2 ??  ░░··",
            "3 ▒▒▓▓▓▓·?",
            "-8 -█-▓-▒-▒-░-   ░░▒▒▒▒▓▓██ 8",
            "·· 3 masked off  ·? 1 masked off and un…",
        ]
    )


def test_a_block_that_fits_shows_its_numbers() -> None:
    rows = heat(odd_block(), STILL, 40, 12, PLAIN).text.split("\n")
    assert rows[2:6] == [
        "0       -8     NaN      -6       ·",
        "1       -4      -3     Inf       ·",
        "2        ?       1       2       ·",
        "3        4       5       6      ·?",
    ]


def test_without_unicode_only_ascii_is_written() -> None:
    shown = heat(odd_block(), Look(numbers=False), 60, 12, Palette(ascii=True))
    assert shown.text.isascii()
    rows = shown.text.split("\n")
    assert rows[2:6] == ["0 -<NN-#//", "1 -+-=II//", "2 ??..:://", "3 ++**##/?"]


def test_the_least_number_of_one_sign_is_no_empty_cell() -> None:
    shown = heat(Block("n", "int32[64]", np.arange(64)), STILL, 40, 12, PLAIN)
    assert shown.text.split("\n")[2].startswith(" 0 ░░░░")


@pytest.mark.parametrize("depth", list(Depth))
def test_colours_fall_back_to_sixteen_and_to_none(depth: Depth) -> None:
    shown = heat(odd_block(), Look(cursor=False, numbers=False), 40, 12, Palette(depth))
    cells = [style for line in shown.lines[2:6] for style, _ in line[1:]]
    numbers = [s for s in cells if not s.startswith("class:cell.")]
    assert {Depth.FULL: "bg:#", Depth.SIXTEEN: "bg:ansi", Depth.NONE: ""}[depth] in numbers[0]
    assert all(("bg:" in s) is (depth is not Depth.NONE) for s in numbers)
    assert (len(set(numbers)) > 1) is (depth is not Depth.NONE)


def test_a_nan_among_many_elements_is_never_pooled_away() -> None:
    x = np.ones((512, 512), np.float32)
    x[300, 411] = np.nan
    shown = heat(Block("x", "fp32[512, 512]", x), STILL, 60, 20, PLAIN)
    assert "a cell: max |x| of 32 x 32" in shown.text
    assert sum(line.count("NN") for line in shown.text.split("\n")[2:-1]) == 1
    assert (300, 411) in [spot.target for spot in shown.spots]


def test_the_largest_magnitude_stands_for_a_cell() -> None:
    x = np.zeros((64, 64), np.float32)
    x[37, 21] = -9
    shown = heat(Block("x", "fp32[64, 64]", x), STILL, 40, 12, PLAIN)
    assert (37, 21) in [spot.target for spot in shown.spots]
    assert "-9" in shown.text


def test_pages_show_each_element_and_say_which() -> None:
    x = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    look = Look(pages=True, at=(40, 35), axes=(0, 1))
    shown = heat(Block("x", "int32[64, 64]", x), look, 70, 12, PLAIN)
    assert "rows 40..47 of 64, columns 33..63 of 64" in shown.text
    assert "x[40, 35] = 2595" in shown.text
    assert len(shown.spots) == 8 * 31


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 4), (2, 2, 3, 4), (2, 1, 2, 3, 4)])
def test_blocks_of_every_rank_are_drawn_with_each_element_at_its_place(shape: Any) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    block, look = Block("x", "int32", x), Look(numbers=True)
    seen: set[int] = set()
    others = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    for _ in range(others):
        shown = heat(block, look, 80, 24, PLAIN)
        for spot in shown.spots:
            cell = "".join(t for _, t in shown.lines[spot.row])[spot.left : spot.right]
            assert int(cell.strip()) == x[spot.target]
            seen.add(int(x[spot.target]))
        look = paged(shape, look, 1)
    assert len(seen) == (x.size if shape else 0)


def test_axes_are_chosen_and_said() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    look = turned(x.shape, turned(x.shape, Look()))
    shown = heat(Block("x", "int32[2, 3, 4]", x), look, 80, 24, PLAIN)
    assert "down" in shown.lines[0][-1][1] and "across" in shown.lines[0][-1][1]
    assert look.axes not in ((1, 2), (0, 0))


def test_the_cursor_stays_on_the_block() -> None:
    look = moved((4, 4), Look(), 2, 9)
    assert look.at == (2, 3)
    assert moved((4, 4), look, -5, -1).at == (0, 2)


def test_a_masked_element_that_nobody_wrote_is_both() -> None:
    assert kinds_of(odd_block())[3, 3] == Kind.HOLE
    assert kinds_of(odd_block())[2, 0] == Kind.UNDEFINED


def test_pointers_are_elements_of_their_argument() -> None:
    block = Block("p", "pointer<fp32>[4]", np.arange(8, 12), into="x_ptr")
    assert "p[0] = x_ptr + 8" in heat(block, Look(), 60, 12, PLAIN).text


@pytest.mark.parametrize(
    ("told", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.FULL),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Depth.NONE),
        ({"TERM": "screen"}, Depth.SIXTEEN),
        ({"TERM": "dumb"}, Depth.NONE),
    ],
)
def test_the_environment_says_what_a_terminal_can_show(told: Any, depth: Depth) -> None:
    assert from_environment(told).depth is depth


def test_a_terminal_without_utf8_gets_ascii() -> None:
    assert from_environment({"TERM": "xterm"}, "ANSI_X3.4-1968").ascii
    assert not from_environment({"TERM": "xterm"}, "utf8").ascii

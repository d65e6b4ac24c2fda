"""Maps of program instances and of memory by last writer."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.debugger.session import GridState
from blockstep.debugger.views.grid import grid
from blockstep.debugger.views.memory import Memory, memory
from blockstep.debugger.views.palette import Depth, Palette
from blockstep.debugger.views.plain import grid_text, heat_text, memory_text
from blockstep.debugger.views.planes import Look

PLAIN = Palette()


def state(shape: Any, done: int = 0, here: int | None = None, **marked: Any) -> GridState:
    flags = {
        name: np.zeros(int(np.prod(shape)), bool) for name in ("done", "begun", "found", "partner")
    }
    flags["done"][:done] = True
    for name, at in marked.items():
        flags[name][at] = True
    return GridState(shape, here=here, **flags)


def test_a_grid_shows_done_here_findings_partners_and_who_waits() -> None:
    shown = state((4, 3, 1), done=5, here=6, found=[1], partner=[3], begun=[8])
    assert grid_text(shown, 60, 12).split("\n") == [
        "grid (4, 3, 1)",
        "  0",
        "0 ■ ! ■ R",
        "1 ■ · @ ·",
        "2 w · · ·",
        "@ here  ! 1 finding  R 1 race partner  w 1 waiting",
        "■ 3 done  · 5 to come",
    ]
    assert grid_text(shown, 60, 12, ascii=True).isascii()


def test_a_finding_in_a_grid_too_large_to_draw_stays_in_sight() -> None:
    shown = grid(state((100, 100, 1), done=10000, found=[7531]), Look(cursor=False), 60, 16, PLAIN)
    assert "a cell: the gravest of 8 x 4" in shown.text
    assert shown.text.split("\n", 2)[2].split("@")[0].count("! ") >= 1
    assert (31, 75, 0) in [spot.target for spot in shown.spots]


def test_a_place_on_the_map_is_the_instance_that_is_drawn_there() -> None:
    shown = grid(state((5, 2, 3), found=[1 + 5 * (1 + 2 * 2)]), Look(at=(2, 0, 0)), 40, 12, PLAIN)
    spot = next(s for s in shown.spots if s.target == (1, 1, 2))
    assert "".join(t for _, t in shown.lines[spot.row])[spot.left] == "!"
    assert "z = 2" in shown.text


def test_memory_is_lettered_by_its_last_writer() -> None:
    writers = np.array([[0, 0, 1, 1], [2, 2, -1, -1]])
    shown = Memory("out", "float32[2, 4]", np.arange(8.0).reshape(2, 4), writers, (3, 1, 1))
    assert memory_text(shown, 60, 10).split("\n") == [
        "out float32[2, 4]  by last writer",
        "  0",
        "0 aaaabbbb",
        "1 cccc····",
        "·· nobody: 2  aa (0, 0, 0): 2  bb (1, 0, 0): 2  and 1 more",
    ]


def test_the_writer_of_the_element_under_the_cursor_is_told_by_its_program_id() -> None:
    writers = np.arange(12).reshape(3, 4)
    shown = Memory("out", "float32[3, 4]", np.arange(12.0).reshape(3, 4), writers, (2, 3, 2))
    text = memory(shown, Look(at=(2, 1), axes=(0, 1)), 70, 10, PLAIN).text
    assert "out[2, 1] = 9.0, written by instance (1, 1, 1)" in text


def test_a_cell_of_several_writers_names_none_of_them() -> None:
    writers = np.zeros((64, 64), int)
    writers[0, 0] = 1
    shown = Memory("out", "float32[64, 64]", np.zeros((64, 64)), writers, (2, 1, 1))
    rows = memory(shown, Look(cursor=False), 40, 12, PLAIN).text.split("\n")
    assert rows[2].startswith(" 0 **aa")


def test_writers_have_colours_where_there_are_some() -> None:
    writers = np.array([0, 1, 2, 3])
    shown = Memory("out", "float32[4]", np.zeros(4), writers, (4, 1, 1))
    for depth, begins in ((Depth.FULL, "bg:#"), (Depth.SIXTEEN, "bg:ansi")):
        line = memory(shown, Look(cursor=False), 40, 12, Palette(depth)).lines[2]
        assert len({style for style, _ in line[1:]}) == 4
        assert all(style.startswith(begins) for style, _ in line[1:])


def test_an_array_is_drawn_as_plain_text() -> None:
    assert heat_text("w", np.eye(2, dtype=np.float32), 40, 10).split("\n") == [
        "w float32[2, 2]",
        "         0       1",
        "0        1       0",
        "1        0       1",
        "0 ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓██████ 1",
    ]

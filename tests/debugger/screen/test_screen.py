"""The application: keys and clicks in, what is on the terminal out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prompt_toolkit.data_structures import Size

from blockstep.debugger.commands.reply import Then
from blockstep.debugger.session import Session
from blockstep.debugger.views.palette import Depth, Palette
from blockstep.runtime.ladder.launch import take
from tests.debugger import kernels
from tests.debugger.screen import own_kernels
from tests.debugger.screen.driving import Driven, drive

LARGE = (200, 60)


@pytest.fixture(autouse=True)
def no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def adding() -> Iterator[Session]:
    x = np.arange(100, dtype=np.float32)
    session = Session(take(kernels.add, (x, 2 * x, np.zeros_like(x), 100), {"BLOCK": 16}, (7,)))
    yield session
    session.close()


def line(text: str, part: str) -> str:
    """The first row of a screen that has the part."""
    return next(row for row in text.split("\n") if part in row)


def test_a_small_screen_has_source_a_tab_and_the_command_line(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        rows = screen.rows
        assert rows[0] == " add  (6, 0, 0) of grid (7, 1, 1)"
        assert "▶17     pid = tl.program_id(0)" in screen.text
        assert line(screen.text, "[1 locals]").endswith("──")
        assert line(screen.text, "constexpr ").split() == ["BLOCK", "constexpr", "16"]
        assert rows[-3].startswith("step 1 of 1") and "6 of 7 instances done" in rows[-3]
        assert rows[-2] == "(blockstep)"
        assert rows[-1].startswith("F5 continue F9 break F10 next")
        assert all(len(row) <= 80 for row in rows)

    drive(adding, script, program=(6, 0, 0))


def test_a_large_screen_has_all_panes_at_once(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("F10", "F10", "F10", "F10")
        for heading in (
            "kernels.py in add", "locals of add", "block", "grid", "memory", "calls", "output",
            "findings", "breakpoints",
        ):  # fmt: skip
            assert f"── {heading} ─" in screen.text
        assert "x fp32[16]  mask mask" in screen.text
        assert "grid (7, 1, 1)" in screen.text and "out_ptr float32[100]" in screen.text
        assert "nothing has been found so far" in screen.text

    drive(adding, script, LARGE, program=(6, 0, 0))


def test_f_keys_step_both_ways(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("F10", "F10", "F10", "F10")
        assert "▶21" in screen.text
        await screen.press("F10", "F11")
        assert "▶11     y = x * 0.5" in screen.text
        assert line(screen.text, "x  ").split()[:2] == ["x", "fp32[16]"]
        await screen.press("S-F11")
        assert "▶22" in screen.text or "▶21" in screen.text
        await screen.press("C-F10", "A-F10")
        assert "in the past" in screen.rows[0]
        before = screen.screen.state.scene.position[0]
        await screen.press("C-F11")
        assert screen.screen.state.scene.position[0] == before - 1
        await screen.press("C-F5")
        assert "the record begins here" in screen.rows[0]

    drive(adding, script, program=(6, 0, 0))


def test_letters_step_where_a_pane_has_the_keys_and_are_typed_elsewhere(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("n")
        assert screen.rows[-2] == "(blockstep) n" and "▶17" in screen.text
        await screen.press("C-c", "Tab", "n", "n", "N")
        assert "▶18" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_commands_are_those_of_the_prompt_and_answers_are_shown(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("F10", "p pid * 2", "Enter")
        assert "[8 output]" in screen.text
        assert "> p pid * 2" in screen.text and "12" in line(screen.text, "int32")
        await screen.press("nonsense here", "Enter")
        assert "there is no command nonsense" in screen.text
        await screen.press("Up")
        assert screen.rows[-2] == "(blockstep) nonsense here"
        await screen.press("Up", "Enter")
        assert screen.text.count("> p pid * 2") == 2

    drive(adding, script, program=(6, 0, 0))


def test_tab_completes_a_command(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        screen.pipe.send_text("reverse-f\t")
        await screen.until(lambda: screen.screen.buffer.text == "reverse-finish")
        await screen.settle()
        assert screen.rows[-2].startswith("(blockstep) reverse-finish")

    drive(adding, script, program=(6, 0, 0))


def test_f9_and_a_click_set_and_remove_breakpoints(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        row = next(n for n, text in enumerate(screen.rows) if " 20 " in text)
        await screen.click(12, row)
        assert screen.rows[row].startswith("● 20")
        await screen.press("F5")
        assert screen.rows[0].endswith("breakpoint 1")
        assert "●▶20" in screen.text
        await screen.press("disable 1", "Enter")
        assert "○▶20" in screen.text
        await screen.press("F9")
        assert " ▶20" in screen.text and "●" not in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_a_click_on_an_instance_goes_there(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("A-3")
        row = next(n for n, text in enumerate(screen.rows) if text.startswith("0 ■"))
        await screen.click(2 + 2 * 2, row)
        assert screen.rows[0].startswith(" add  (2, 0, 0) of grid")
        assert "2 of 7 instances done" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_a_click_on_a_heat_map_shows_the_value_and_its_indices(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("F10", "F10", "F10", "F10", "\x1b2")
        assert "x[0] = 96" in screen.text
        row = next(n for n, text in enumerate(screen.rows) if text.startswith(" 0       96"))
        await screen.click(3 + 8 * 2 + 4, row)
        assert "x[2] = 98" in screen.text
        await screen.press("Down")
        assert "x[3] = 99" in screen.text
        await screen.press("Right")
        assert "x[4] = undefined (masked off)" in screen.text
        await screen.press("m")
        assert "x[4] = undefined" in screen.text and "masked" not in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_the_block_that_a_line_made_is_shown_until_another_is_chosen(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("\x1b2", "F10", "F10")
        assert "offs int32[16]" in screen.text
        await screen.press("F10")
        assert "mask int1[16]" in screen.text
        await screen.press("Tab", "Tab", "<", "F10")
        assert "offs int32[16]" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_memory_shows_elements_and_who_wrote_them(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("A-4"[:0] + "\x1b4", "Tab", "Tab")
        assert "out_ptr float32[100]" in screen.text
        before = screen.screen.commands.session.array("out_ptr")
        await screen.press("Enter")
        assert "by last writer" in screen.text
        assert "(0, 0, 0): 16" in screen.text
        assert "written by instance (0, 0, 0)" in screen.text
        assert np.array_equal(before, screen.screen.commands.session.array("out_ptr"))
        await screen.press("Enter", ">")
        assert "x_ptr float32[100]" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_an_element_in_memory_is_blamed_and_watched_by_a_key(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("\x1b4", "Tab", "Tab", "Right", "Right", "b")
        assert "> blame out_ptr[2]" in screen.text
        assert "program instance (0, 0, 0)" in screen.text
        await screen.press("4", "w")
        assert "> watch out_ptr[2]" in screen.text
        (watch,) = adding.points.watches
        assert (watch.argument, watch.index) == ("out_ptr", (2,))

    drive(adding, script, program=(1, 0, 0))


def test_an_argument_of_too_many_elements_is_not_drawn_and_that_is_said(
    adding: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockstep.debugger.screen.state.MOST_ELEMENTS", 99)

    async def script(screen: Driven) -> None:
        await screen.press("\x1b4", "Tab", "Tab", "Right", "Enter")
        assert "out_ptr float32[100] has too many elements to be drawn" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_memory_follows_what_is_written_and_undone(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("\x1b4", "until 24", "Enter", "\x1b4")
        assert "out_ptr float32[100]" in screen.text
        assert "210.375" not in screen.text
        await screen.press("F10")
        assert "the program instance is done" in screen.rows[0]
        assert "210.375" in screen.text  # 99 * 2.125
        await screen.press("C-F10")
        assert "210.375" not in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_help_is_shown_on_a_question_mark_and_goes_with_any_key(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("?")
        for text in ("Continue", "Finish this call", "In a pane", "Value and indices"):
            assert text in screen.text
        assert "…" not in screen.text
        await screen.press("x")
        assert "Finish this call" not in screen.text
        assert screen.rows[-2] == "(blockstep)"
        await screen.press("p ?")
        assert screen.rows[-2] == "(blockstep) p ?"

    drive(adding, script, program=(6, 0, 0))


def test_the_screen_follows_the_size_of_the_terminal(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        output: Any = screen.screen.app.output
        assert "[1 locals]" in screen.text
        for columns, rows, part in (
            (200, 60, "── calls ─"),
            (130, 30, "[1 locals]"),
            (60, 16, "▶17"),
        ):
            output.size = Size(rows=rows, columns=columns)
            screen.screen.app._on_resize()
            await screen.settle()
            assert part in screen.text
            assert len(screen.rows) == rows

    drive(adding, script, program=(6, 0, 0))


def test_ctrl_c_stops_a_kernel_that_runs() -> None:
    x = np.zeros(1, np.float32)
    session = Session(take(own_kernels.endless, (x, 10**9), {}, (1,)))

    async def script(screen: Driven) -> None:
        screen.pipe.send_text("\x1b[15~")
        await screen.until(lambda: screen.screen.state.busy)
        await screen.until(lambda: session.history.count > 50)
        screen.screen.app._redraw()
        assert "Ctrl-C" in screen.rows[0]
        assert "stop the kernel" in screen.rows[-1]
        await screen.press("C-c")
        assert screen.rows[0].endswith("stopped")
        assert "▶" in screen.text

    drive(session, script)
    session.close()


def test_a_finding_stops_the_launch_and_both_parties_are_on_the_map() -> None:
    session = Session(take(kernels.total, (np.zeros(1, np.float32),), {}, (4,)))

    async def script(screen: Driven) -> None:
        await screen.press("F5")
        assert "error[race]" in screen.rows[0]
        assert "5 findings!" in screen.text
        await screen.press("\x1b3")
        assert line(screen.text, "0 !").startswith("0 ! @<")
        assert "instance (1, 0, 0) here, race partner" in screen.text
        await screen.press("\x1b5")
        assert "(1)" in screen.text and "nothing orders them" in screen.text.replace("\n  ", " ")

    drive(session, script)
    session.close()


def test_what_the_kernel_prints_goes_to_the_output_and_not_over_the_screen(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        screen.screen.state.say("printed by a kernel", "class:output.printed")
        await screen.press("\x1b8")
        assert "printed by a kernel" in screen.text

    drive(adding, script, program=(6, 0, 0))


def test_continuing_past_the_end_lets_the_script_go_on_and_shift_f5_ends_it(
    adding: Session,
) -> None:
    async def go(screen: Driven) -> None:
        await screen.press("F5")
        assert screen.rows[0].endswith("the launch is over")
        screen.pipe.send_text("\x1b[15~")
        await screen.until(lambda: False)

    async def leave(screen: Driven) -> None:
        screen.pipe.send_text("\x1b[15;2~")
        await screen.until(lambda: False)

    assert drive(adding, go, program=(6, 0, 0)) is Then.GO
    adding.start((1, 0, 0))
    assert drive(adding, leave) is Then.QUIT


def test_commands_from_a_file_are_done_before_those_of_a_person(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        lines = ["next", "break 20", "continue", "print pid"]
        screen.screen.begin(lines)
        await screen.settle()
        assert "●▶20" in screen.text and not lines
        await screen.press("\x1b8")
        assert "> print pid" in screen.text

    drive(adding, script, program=(6, 0, 0))


@pytest.mark.parametrize("depth", list(Depth))
def test_cells_have_colours_as_many_as_the_terminal(adding: Session, depth: Depth) -> None:
    async def script(screen: Driven) -> None:
        await screen.press("F10", "F10", "\x1b2", "v"[:0])
        await screen.press("Tab", "Tab", "v", "v")
        drawn = screen.screen.app.renderer.last_rendered_screen
        assert drawn is not None
        row = next(n for n, text in enumerate(screen.rows) if text.startswith(" 0 "))
        styles = {drawn.data_buffer[row][x].style for x in range(6, 24)}
        begins = {Depth.FULL: "bg:#", Depth.SIXTEEN: "bg:ansi"}.get(depth, "bg:")
        assert any(begins in style for style in styles) is (depth is not Depth.NONE)

    drive(adding, script, palette=Palette(depth), program=(6, 0, 0))


def test_without_unicode_nothing_but_ascii_is_on_the_screen(adding: Session) -> None:
    async def script(screen: Driven) -> None:
        for size in ((80, 24), LARGE):
            output: Any = screen.screen.app.output
            output.size = Size(rows=size[1], columns=size[0])
            screen.screen.app._on_resize()
            await screen.press("F10", "F10")
            assert screen.text.isascii()

    drive(adding, script, palette=Palette(ascii=True), program=(6, 0, 0))


def test_asking_who_wrote_memory_changes_no_verdict() -> None:
    x = np.zeros(1, np.float32)
    session = Session(take(kernels.total, (x,), {}, (4,)))

    async def script(screen: Driven) -> None:
        await screen.press("F10", "F10", "\x1b4", "Tab", "Tab", "Enter")
        assert "written by instance (3, 0, 0)" in screen.text
        assert session.array("x_ptr")[0] == 0 and not session.findings
        await screen.press("F5")
        assert "error[race]" in screen.rows[0]
        assert "(1, 0, 0)" in screen.rows[0]

    drive(session, script)
    session.close()

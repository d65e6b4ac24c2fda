"""Values, source and calls as the prompt shows them."""

from __future__ import annotations

import pytest

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Refused
from tests.debugger.opened import line_of, opened, scaling
from tests.debugger.test_commands import refused, said


@pytest.fixture
def at_store() -> Commands:
    """Before the store of the last program instance, where 4 of 8 elements are masked off."""
    commands = opened(scaling(), (2, 0, 0))
    said(commands, "next 4")
    return commands


def test_print_shows_type_values_and_undefined_elements(at_store: Commands) -> None:
    assert said(at_store, "p x") == (
        "<fp32[8] [16., 17., 18., 19.,  0.,  0.,  0.,  0.], 4 of 8 undefined: elements 4..7>"
    )
    assert said(at_store, "print x_ptr + offs").startswith("<pointer<fp32>[8] x_ptr + [16, 17")


def test_a_line_that_is_no_command_is_an_expression(at_store: Commands) -> None:
    assert said(at_store, "x.shape") == "(8,)"
    assert said(at_store, "n + 1") == "<int32 21>"
    assert said(at_store, "!mask").startswith("<int1[8] [ True")


def test_an_assignment_is_refused_with_the_reason(at_store: Commands) -> None:
    assert "nothing is assigned here" in refused(at_store, "x = 3")
    assert "nothing is assigned here" in refused(at_store, "!x = 3")


def test_a_store_in_an_expression_is_refused(at_store: Commands) -> None:
    before = at_store.session.array("out_ptr")
    assert "expressions only look" in refused(at_store, "p tl.store(out_ptr, 3.0)")
    assert (at_store.session.array("out_ptr") == before).all()


def test_a_mistyped_command_is_told_what_may_be_meant(at_store: Commands) -> None:
    assert refused(at_store, "whree") == "there is no command whree; did you mean where?"
    assert refused(at_store, "re") == (
        "re may be restart, return, reverse-continue, reverse-finish, reverse-next or reverse-step"
    )
    assert refused(at_store, "p nosuch").startswith("NameError: name 'nosuch' is not defined")
    assert refused(at_store, "p x +").startswith("x +: ")


def test_pp_shows_every_element_and_holes_where_none_is(at_store: Commands) -> None:
    text = said(at_store, "pp x")
    assert text.startswith("fp32[8], 4 of 8 undefined (written __)")
    assert text.count("__") == 5 and "19, __" in text


def test_one_element_in_focus(at_store: Commands) -> None:
    assert "x = 18.0 at (2,)" in said(at_store, "element 2")
    assert said(at_store, "p x") == "18.0 at (2,)   of fp32[8]"
    assert said(at_store, "lane 5", "p x") == "undefined at (5,)   of fp32[8]"
    assert said(at_store, "p x_ptr + offs") == "x_ptr + 21 at (5,)   of pointer<fp32>[8]"
    assert "whole blocks" in said(at_store, "element off")
    assert "an element is one number or several" in refused(at_store, "element -1")


def test_info_locals_has_type_range_and_undefined(at_store: Commands) -> None:
    rows = dict(
        (line.split()[0], " ".join(line.split()[1:]))
        for line in said(at_store, "info locals").splitlines()
    )
    assert rows["x"] == "fp32[8] 16.0 17.0 18.0 19.0, 4 undefined"
    assert rows["mask"] == "int1[8] 4 of 8 true" and rows["BLOCK"] == "constexpr 8"
    assert rows["x_ptr"] == "pointer<fp32> x_ptr"


def test_info_args_masks_allocations_and_history(at_store: Commands) -> None:
    assert "float32[20]  0 .. 19" in said(at_store, "info args")
    assert said(at_store, "info masks") == "mask  int1[8]  4 of 8 true: 0..3"
    assert "80 bytes" in said(at_store, "info allocations")
    assert "lines recorded" in said(at_store, "info history")
    assert said(at_store, "i l").startswith("x_ptr")
    assert refused(at_store, "info nothing").startswith("info args | locals | masks")


def test_info_layout_draws_the_blocks_of_the_line(at_store: Commands) -> None:
    said(at_store, "restart", "n", "n")
    text = said(at_store, "info layout")
    assert text.startswith("%x") and "layout<8;" in text


def test_info_grid_is_a_map(at_store: Commands) -> None:
    assert said(at_store, "info grid").splitlines()[:2] == [
        "grid (3, 1, 1): 2 of 3 program instances done",
        "   0 ##>",
    ]


def test_display_is_shown_after_each_stop_also_where_it_has_no_value(at_store: Commands) -> None:
    assert said(at_store, "display offs * 2").startswith("1: offs")
    text = said(at_store, "restart")
    assert "1: offs * 2: NameError" in text
    assert "1: offs * 2 = <int32[8]" in said(at_store, "next")
    assert "there is no display 7" in refused(at_store, "undisplay 7")
    said(at_store, "undisplay")
    assert refused(at_store, "display") == "nothing is displayed"


def test_where_up_and_down_walk_the_calls(at_store: Commands) -> None:
    said(at_store, "restart", "n", "n", "n", "s")
    assert said(at_store, "p v").startswith("<fp32[8]")
    assert "in scale" in said(at_store, "up")
    assert said(at_store, "p offs").startswith("<int32[8]")
    assert said(at_store, "where").splitlines()[0].startswith("> ")
    assert refused(at_store, "up") == "this is the outermost call"
    said(at_store, "down")
    assert refused(at_store, "down") == "this is the innermost call"
    assert refused(at_store, "frame 2") == "there are calls 0 to 1"


def test_list_marks_the_line_and_breakpoints_and_goes_on(at_store: Commands) -> None:
    said(at_store, f"b {line_of('mask')}")
    text = said(at_store, "list")
    assert f"{line_of('store'):>4} ->     tl.store" in text
    assert f"{line_of('mask'):>4}B       mask" in text
    assert said(at_store, "list").splitlines()[0].startswith(f"{line_of('store') + 6:>4}")
    assert said(at_store, "ll").splitlines()[0].endswith("@triton.jit")
    assert said(at_store, "list 1, 2").count("\n") == 1
    assert "the file ends at line" in refused(at_store, "list 9000")


def test_whatis_says_where_a_pointer_leads(at_store: Commands) -> None:
    assert said(at_store, "whatis x_ptr + offs") == "pointer<fp32>[8], into x_ptr: float32[20]"
    assert said(at_store, "whatis BLOCK") == "constexpr 8"


def test_plot_draws_a_block_with_signs_for_what_is_undefined(at_store: Commands) -> None:
    text = said(at_store, "plot x")
    assert text.startswith("x: fp32[8]")
    assert text.splitlines()[-2].endswith("????")
    assert "x_ptr in memory" in said(at_store, "plot x_ptr")
    assert "no block and no argument" in refused(at_store, "plot n")


def test_help_has_every_command_and_its_docstring(at_store: Commands) -> None:
    text = said(at_store, "help")
    for name in at_store.table.methods:
        assert f"\n  {name} " in f"\n{text}"
        assert at_store.table.docs[name].count("\n") >= 2, name
        assert len(at_store.table.summary(name)) <= 72, name
    assert said(at_store, "help b").startswith("b(reak) ")
    with pytest.raises(Refused):
        at_store.run_line("help nosuch")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("whe", ["where"]),
        ("info al", ["allocations"]),
        ("break tw", ["twice"]),
        ("print of", ["offs"]),
        ("p x_ptr + of", ["offs"]),
        ("watch ou", ["out_ptr"]),
        ("catch n", ["nan"]),
        ("help reverse-f", ["reverse-finish"]),
        ("step ", []),
    ],
)
def test_the_tab_key_offers_what_fits(at_store: Commands, line: str, words: list[str]) -> None:
    assert at_store.complete(line) == words

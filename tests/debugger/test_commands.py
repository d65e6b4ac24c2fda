"""What each command does and says, one after another."""

from __future__ import annotations

import pytest

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Refused, Then
from blockstep.debugger.moments import Reason
from tests.debugger.opened import (
    cancelling,
    line,
    line_of,
    opened,
    racing,
    rooting,
    scaling,
    summing,
)


@pytest.fixture
def at_scale() -> Commands:
    """In program instance (1, 0, 0) of three."""
    return opened(scaling(), (1, 0, 0))


def said(commands: Commands, *lines: str) -> str:
    """What the last of some commands says."""
    return [commands.run_line(one).text for one in lines][-1]


def refused(commands: Commands, text: str) -> str:
    """Why a command cannot be done."""
    with pytest.raises(Refused) as refusal:
        commands.run_line(text)
    return str(refusal.value)


# Running.


def test_step_enters_a_function_and_next_does_not(at_scale: Commands) -> None:
    said(at_scale, "next 3")
    assert line(at_scale) == line_of("call")
    said(at_scale, "step")
    assert line(at_scale) == line_of("inside")
    said(at_scale, "reverse-step", "next")
    assert line(at_scale) == line_of("store")


def test_an_empty_line_repeats_a_step_and_nothing_else(at_scale: Commands) -> None:
    said(at_scale, "n", "")
    assert line(at_scale) == line_of("load")
    assert said(at_scale, "whatis offs", "") == ""
    assert line(at_scale) == line_of("load")


def test_step_goes_from_the_end_of_an_instance_to_the_next_one(at_scale: Commands) -> None:
    said(at_scale, "finish")
    assert at_scale.stopped.reason is Reason.INSTANCE_END
    assert "program instance (2, 0, 0) of grid (3, 1, 1)" in said(at_scale, "step")


def test_until_leaves_a_loop() -> None:
    commands = opened(summing())
    said(commands, "n", "n", "n")
    assert line(commands) == line_of("loop")
    said(commands, "until")
    assert line(commands) in (line_of("body"), line_of("after"))
    said(commands, f"until {line_of('after')}")
    assert line(commands) == line_of("after")


def test_a_step_within_one_function_says_the_line_only(at_scale: Commands) -> None:
    text = said(at_scale, "next")
    assert text == f"{line_of('mask'):>4} ->     mask = offs < n  #! mask"


def test_continue_runs_to_the_end_and_once_more_lets_the_script_go_on(at_scale: Commands) -> None:
    assert said(at_scale, "c") == "the launch is over: 3 program instances ran"
    assert at_scale.run_line("c").then is Then.GO
    assert "`run` begins again" in refused(at_scale, "step")


def test_from_the_end_one_can_still_go_back(at_scale: Commands) -> None:
    said(at_scale, "c", "reverse-continue out_ptr[17]")
    assert (line(at_scale), at_scale.stopped.program) == (line_of("store"), (2, 0, 0))


def test_run_begins_again_where_the_session_began_and_keeps_breakpoints(at_scale: Commands) -> None:
    said(at_scale, "break twice", "c", "run")
    assert (line(at_scale), at_scale.stopped.program) == (line_of("first"), (1, 0, 0))
    said(at_scale, "c")
    assert line(at_scale) == line_of("inside")


def test_program_goes_to_another_instance_and_restart_to_the_beginning(at_scale: Commands) -> None:
    assert said(at_scale, "program") == "program instance (1, 0, 0) of grid (3, 1, 1)"
    said(at_scale, "program 2", "n", "n", "restart")
    assert (line(at_scale), at_scale.stopped.program) == (line_of("first"), (2, 0, 0))
    assert "outside of grid" in refused(at_scale, "program 3")
    assert "is X,Y,Z" in refused(at_scale, "program a")


def test_going_back_undoes_memory(at_scale: Commands) -> None:
    said(at_scale, "finish")
    assert at_scale.session.array("out_ptr")[9] == 18
    said(at_scale, "reverse-next")
    assert at_scale.session.array("out_ptr")[9] == 0


def test_a_place_of_the_record_can_be_returned_to(at_scale: Commands) -> None:
    assert said(at_scale, "n", "n", "position") == "line 2 of this run"
    said(at_scale, "finish", "position 2")
    assert line(at_scale) == line_of("load")


# Where to stop.


def test_a_breakpoint_takes_a_line_a_function_a_condition_and_an_instance() -> None:
    commands = opened(scaling())
    at = line_of("store")
    assert said(commands, f"b {at} in 2 if y > 36").startswith("breakpoint 1: ")
    assert said(commands, f"b opened.py:{at}").endswith("#! store")
    assert said(commands, "tb twice") == "breakpoint 3: twice, once"
    said(commands, "delete 2", "c")
    assert line(commands) == line_of("inside")
    assert "breakpoint 1" in said(commands, "c")
    assert commands.stopped.program == (2, 0, 0)
    assert "no breakpoint or watch 3" in refused(commands, "disable 3")


def test_a_breakpoint_on_a_line_without_code_moves_to_the_next_one(at_scale: Commands) -> None:
    assert f":{line_of('first')}" in said(at_scale, f"b {line_of('first') - 1}")
    assert "no line of the kernel from 100000 on" in refused(at_scale, "b 100000")


def test_a_wrong_place_is_refused_with_those_that_there_are(at_scale: Commands) -> None:
    assert "there are scale, twice" in refused(at_scale, "b thrice")
    assert "it has some in opened.py" in refused(at_scale, "b other.py:3")
    assert "a place is LINE, FILE:LINE or FUNCTION" in refused(at_scale, "b 3+4")


def test_ignore_condition_disable_and_info_breakpoints(at_scale: Commands) -> None:
    said(at_scale, "b twice", "ignore 1 1", "c")
    assert at_scale.stopped.program == (2, 0, 0)
    said(at_scale, "condition 1 v < 0", "disable 1")
    assert "off  twice if v < 0" in said(at_scale, "info breakpoints")
    assert at_scale.run_line("info b").data["breakpoints"][0]["hits"] == 2


def test_clear_takes_the_breakpoints_of_a_place(at_scale: Commands) -> None:
    said(at_scale, "b twice", "b")
    assert said(at_scale, "clear twice") == "1 breakpoint deleted"
    assert said(at_scale, "clear") == "1 breakpoint deleted"
    assert refused(at_scale, "clear") == "there is no breakpoint"


def test_a_watched_element_stops_behind_its_write_with_both_values(at_scale: Commands) -> None:
    said(at_scale, "watch out_ptr[9]")
    assert said(at_scale, "c").startswith("out_ptr[9]: 0.0 becomes 18.0, by ")
    assert at_scale.session.array("out_ptr")[9] == 18


def test_the_first_nan_is_caught_with_its_operands() -> None:
    commands = opened(rooting())
    said(commands, "catch nan")
    text = said(commands, "c")
    assert text.startswith(
        "the first NaN of program instance (1, 0, 0): sqrt of -1.0 at element (3,)"
    )


def test_reverse_continue_nan_goes_back_to_the_birth_and_keeps_what_was_set() -> None:
    commands = opened(rooting(), (1, 0, 0))
    said(commands, "watch out_ptr[11]", "c")
    assert "sqrt of -1.0" in said(commands, "reverse-continue nan")
    assert (line(commands), len(commands.session.points.watches)) == (line_of("root"), 1)


def test_where_no_nan_was_born_the_session_stays(at_scale: Commands) -> None:
    said(at_scale, "n", "n")
    assert "no NaN is born in this program instance" in refused(at_scale, "rc nan")
    assert (line(at_scale), at_scale.stopped.program) == (line_of("load"), (1, 0, 0))


def test_a_finding_stops_in_the_middle_of_its_line() -> None:
    commands = opened(racing())
    text = said(commands, "c")
    assert text.startswith("error[race]: `total_ptr` is read and written by two program instances")
    assert line(commands) == line_of("read")
    assert said(commands, "info findings").startswith("error[race]")
    assert commands.run_line("info grid").data["grid"]["done"] == 1
    said(commands, "uncatch finding")
    assert said(commands, "c").startswith("the launch is over")


def test_an_operation_whose_error_passes_a_bound_is_caught_with_the_right_value() -> None:
    commands = opened(cancelling(), (1, 0, 0))
    said(commands, "next", "next")
    assert said(commands, "catch error > 100").endswith("error > 100 ulps")
    assert line(commands) == line_of("sum")  # where it stood
    text = said(commands, "continue")
    assert text.startswith("sub is off by ")
    assert "at element (2,): 0, and 9.99999975e-06 without rounding" in text
    assert line(commands) == line_of("difference")
    assert said(commands, "continue").startswith("the launch is over")


def test_what_can_be_caught_is_told(at_scale: Commands) -> None:
    assert said(at_scale, "catch") == "caught: finding, exception"
    assert said(at_scale, "catch error > 4 ulps").endswith("error > 4 ulps")
    assert said(at_scale, "uncatch") == "caught: nothing"
    assert "catch finding | nan | inf | exception" in refused(at_scale, "catch it")


def test_going_back_past_every_write_says_so(at_scale: Commands) -> None:
    assert "no line wrote out_ptr[9]" in refused(at_scale, "rc out_ptr[9]")
    said(at_scale, "n", "n")
    assert said(at_scale, "reverse-continue").startswith("the record begins here")

"""The prompt at a terminal: keys through prompt_toolkit's pipe input."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from blockstep.debugger.commands.console import Console
from blockstep.debugger.commands.lines import (
    Chain,
    Pipe,
    Terminal,
    begun_word,
    history_file,
    of_file,
)
from blockstep.debugger.commands.prompt import Prompt
from blockstep.debugger.commands.reply import Then
from tests.debugger.opened import opened, scaling


def typed(keys: str, capsys: pytest.CaptureFixture[str]) -> tuple[Then, str]:
    """What keys lead to, at the first line of the second program instance; what was said."""
    commands = opened(scaling(), (1, 0, 0))
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        console = Console(Prompt(Pipe(())))
        console.prompt.lines = Terminal(console.complete, pipe, DummyOutput())
        then = console(commands, commands.stopped)
    return then, capsys.readouterr().out


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_lines_are_done_until_the_script_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    then, said = typed("n\rp offs\rnosuch\rc\rc\r", capsys)
    assert then is Then.GO
    assert said.splitlines()[3:] == [
        "<int32[8] [ 8,  9, 10, 11, 12, 13, 14, 15]>",
        "*** there is no command nosuch; `help` lists them",
        "the launch is over: 3 program instances ran",
    ]


def test_tab_completes_a_command_and_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = typed("n\rwhati\t off\t\rq\r", capsys)
    assert said.endswith("int32[8]\n")


def test_the_arrow_key_brings_a_line_back(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = typed("n\rwhatis offs\r\x1b[A\rq\r", capsys)
    assert said.count("int32[8]\n") == 2


def test_ctrl_c_gives_a_line_up_and_ctrl_d_ends(capsys: pytest.CaptureFixture[str]) -> None:
    then, said = typed("whatis nosu\x03whatis n\r\x04", capsys)
    assert then is Then.QUIT and said.endswith("int32\n")


def test_lines_are_kept_for_the_next_session(capsys: pytest.CaptureFixture[str]) -> None:
    typed("whatis n\rq\r", capsys)
    assert "+whatis n" in history_file().read_text()
    _, said = typed("\x1b[A\x1b[A\rq\r", capsys)
    assert said.endswith("int32\n")


def test_a_home_that_cannot_be_written_to_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert typed("whatis n\rq\r", capsys)[1].endswith("int32\n")


def test_lines_of_files_come_before_those_of_a_person(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("# comment\nstep\n\n  # and another\nnext\n")
    lines = Chain([of_file(str(tmp_path / "one")), Pipe(["quit"])])
    assert [lines.read() for _ in range(4)] == ["step", "next", "quit", None]


@pytest.mark.parametrize(
    ("line", "word"), [("print of", "of"), ("p x[of", "of"), ("save a/b.c", "a/b.c"), ("p ", "")]
)
def test_the_word_that_completion_replaces(line: str, word: str) -> None:
    assert begun_word(line) == word


def test_a_file_of_commands_stops_at_one_that_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "do"
    file.write_text("next\nnosuch\nnext\n")
    commands = opened(scaling())
    before = commands.stopped.position[0]
    with pytest.raises(RuntimeError, match="there is no command nosuch"):
        commands.run_line(f"source {file}")
    assert commands.stopped.position[0] == before + 1
    file.write_text(f"source {file}\n")
    with pytest.raises(RuntimeError, match="files run files, 20 deep"):
        commands.run_line(f"source {file}")

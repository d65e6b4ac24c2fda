"""`blockstep …` in this process, with what a person types coming through prompt_toolkit's pipe input.

Invariant: the process is left as it was.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from blockstep import commandline, target
from blockstep.debugger.commands import console
from blockstep.debugger.commands.lines import PROMPT, Terminal
from blockstep.runtime import held, redirect, session


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended; `text` is all that it showed, the prompt and what was typed included."""

    status: int
    text: str


class Repeating:
    """A terminal's lines, written down as they would stand there."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def read(self) -> str | None:
        """The next line."""
        line = self.terminal.read()
        print(f"{PROMPT}{'' if line is None else line}".rstrip())
        return line


def play(words: Sequence[str], keys: str, folder: Path, patch: pytest.MonkeyPatch) -> Ended:
    """Runs a command in a folder; `keys` are what is typed, `\\x04` for Ctrl-D."""
    said = io.StringIO()
    before, environment = redirect.installed(), dict(os.environ)
    with create_pipe_input() as pipe, patch.context() as here:
        pipe.send_text(keys)
        here.chdir(folder)
        here.setenv("XDG_STATE_HOME", str(folder / "state"))
        here.setattr(console, "of_person", _person(pipe))
        try:
            with target.using(target.current()), redirect_stdout(said), redirect_stderr(said):
                status = commandline.main(list(words))
        finally:
            session.set_process(None)
            held.forget()
            os.environ.clear()
            os.environ.update(environment)
            if not before:
                redirect.uninstall()
    return Ended(status, said.getvalue())


def _person(pipe: Any) -> Callable[[Any], Repeating]:
    def of_person(complete: Any) -> Repeating:
        return Repeating(Terminal(complete, pipe, DummyOutput()))

    return of_person

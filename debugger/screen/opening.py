"""`talk`: a stop shown on the whole terminal, until the script goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import TextIOBase
from typing import Any, TextIO

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.defaults import create_output

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Then
from blockstep.debugger.moments import Stop
from blockstep.debugger.screen.screen import Screen
from blockstep.debugger.views.palette import Palette, from_environment


def talk(
    commands: Commands, stop: Stop, *, first: list[str] | None = None, input: Any = None,
    output: Any = None, palette: Palette | None = None,
) -> Then:  # fmt: skip
    """Shows a stop and does what a person says; `Then.GO` or `Then.QUIT`. The commands in `first` are
    done and taken out before, as if they had been typed.

    `input` and `output` are prompt_toolkit's (None: the terminal). What the kernel prints meanwhile
    is shown in the output pane, and goes to where it was meant afterwards. Raises OSError where
    there is no terminal."""
    if output is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise OSError("the full screen wants a terminal; without --tui there is a prompt")
        output = create_output(sys.stdout)
    chosen = palette or from_environment(encoding=sys.stdout.encoding or "ascii")
    screen = Screen(commands, chosen, ColorDepth.from_env(), input, output)
    with _printing(lambda text: screen.state.say(text, "class:output.printed")):
        return screen.run(stop, first or [])


@dataclass(slots=True)
class Talk:
    """`talk`, with commands from files before those of a person; what is left of them when a script
    goes on is done at its next stop."""

    first: list[str] = field(default_factory=list)

    def __call__(self, commands: Commands, stop: Stop) -> Then:
        """Until the script goes on, or ends."""
        return talk(commands, stop, first=self.first)


class _Kept(TextIOBase):
    """A stream whose lines go to the screen now and to the real stream later."""

    def __init__(self, real: TextIO, say: Callable[[str], None]) -> None:
        self.real, self._say = real, say
        self.text = ""
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._say(line)
        return len(text)


@contextmanager
def _printing(say: Callable[[str], None]) -> Iterator[None]:
    """Nothing is printed over the screen."""
    out, error = _Kept(sys.stdout, say), _Kept(sys.stderr, say)
    try:
        with redirect_stdout(out), redirect_stderr(error):
            yield
    finally:
        for kept in (out, error):
            kept.real.write(kept.text)
            kept.real.flush()


__all__ = ["Talk", "talk"]

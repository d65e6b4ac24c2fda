"""The debugger from Python: a prompt in the process's terminal, or commands in place of a person."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.console import Console, Wanted, is_plain
from blockstep.debugger.commands.lines import PROMPT, Lines, Pipe
from blockstep.debugger.commands.reply import Then
from blockstep.debugger.moments import Stop
from blockstep.debugger.opening import Opening
from blockstep.options import Program


class Asked:
    """Lines by `input()`: where another program owns the terminal, as IPython and Jupyter do."""

    def read(self) -> str | None:
        """The next line; None at the end of input."""
        try:
            return builtins.input(PROMPT)
        except EOFError:
            return None


class Lenient:
    """A prompt after which the program goes on, whatever ended it."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __call__(self, commands: Commands, stop: Stop) -> Then:
        """Talks; the program goes on."""
        self.console(commands, stop)
        return Then.GO


def opening(
    before: Any, program: Program | None, commands: Iterable[str] | None, seed: int = 0,
    person: Lines | None = None, post_mortem: bool = False,
) -> Opening:  # fmt: skip
    """What stands in for the launcher `before`."""
    if commands is not None:
        person = Pipe(commands, sys.stdout)
    console = Wanted(person=person).console()
    made = Opening(Lenient(console), before, program=program, seed=seed, post_mortem=post_mortem)
    made.plain = is_plain(sys.stdout)
    return made


__all__ = ["Asked", "Lenient", "opening"]

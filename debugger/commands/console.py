"""A prompt made of what was asked for on the command line: lines from files, a pipe or a terminal,
answers as text or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.lines import Chain, Lines, Pipe, of_file, of_person
from blockstep.debugger.commands.prompt import Json, Prompt, Text, Voice
from blockstep.debugger.commands.reply import Then
from blockstep.debugger.moments import Stop


@dataclass(slots=True)
class Console:
    """Talks at each stop of a script; the lines go on from one session to the next."""

    prompt: Prompt
    commands: Commands | None = None

    def __call__(self, commands: Commands, stop: Stop) -> Then:
        """Until the script goes on, or ends."""
        self.commands = commands
        commands.arrived(stop)
        self.prompt.voice.answer(None, commands.arrival())
        return self.prompt.talk(commands)

    def complete(self, line: str) -> list[str]:
        """Completion by the session that is open."""
        return [] if self.commands is None else self.commands.complete(line)


@dataclass(slots=True)
class Wanted:
    """What the command line says of a prompt. `batch` writes JSON to `out`."""

    files: Sequence[str] = ()
    batch: bool = False
    out: TextIO = field(default_factory=lambda: sys.stdout)
    person: Lines | None = None  # instead of the terminal or standard input

    def console(self) -> Console:
        """The prompt. Raises OSError for a file of commands that cannot be read."""
        voice: Voice = Json(self.out) if self.batch else Text()
        made = Console(Prompt(Pipe(()), voice))
        echo = None if self.batch else self.out
        lines: list[Lines] = [of_file(file, echo) for file in self.files]
        if self.person is not None:
            lines.append(self.person)
        elif not self.batch:
            lines.append(of_person(made.complete))
        elif not self.files:
            lines.append(Pipe(sys.stdin))
        made.prompt.lines = Chain(lines)
        return made


def is_plain(stream: TextIO) -> bool:
    """Whether only ASCII can be written."""
    return "utf" not in (stream.encoding or "").lower()


__all__ = ["Console", "Wanted", "is_plain"]

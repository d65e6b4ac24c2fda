"""The loop of a prompt: a line in, an answer out, as text or as one JSON object a line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from blockstep.debugger.commands.lines import Lines
from blockstep.debugger.commands.reply import Refused, Reply, Then

if TYPE_CHECKING:
    from blockstep.debugger.commands.commands import Commands


class Voice(Protocol):
    """How answers are given."""

    def answer(self, line: str | None, reply: Reply) -> None:
        """`line` is what was typed; None for what is said unasked, at a stop before any command."""

    def refuse(self, line: str, why: str) -> None: ...


@dataclass(slots=True)
class Text:
    """For a person."""

    out: TextIO | None = None

    def answer(self, line: str | None, reply: Reply) -> None:
        if reply.text:
            print(reply.text, file=self.out or sys.stdout, flush=True)

    def refuse(self, line: str, why: str) -> None:
        print(f"*** {why}", file=self.out or sys.stdout, flush=True)


@dataclass(slots=True)
class Json:
    """For a program: one object a line, `{"command": …, "ok": …, "text": …, …}`."""

    out: TextIO

    def answer(self, line: str | None, reply: Reply) -> None:
        self._write({"command": line, "ok": True, "text": reply.text, **reply.data})

    def refuse(self, line: str, why: str) -> None:
        self._write({"command": line, "ok": False, "error": why})

    def _write(self, told: dict[str, Any]) -> None:
        print(json.dumps(told, allow_nan=False), file=self.out, flush=True)


@dataclass(slots=True)
class Prompt:
    """Reads lines until one of them lets the script go on, or ends it."""

    lines: Lines
    voice: Voice = field(default_factory=Text)
    refused: int = 0  # commands that could not be done

    def talk(self, commands: Commands) -> Then:
        """Until the script goes on (`GO`) or ends (`QUIT`, also when there are no more lines)."""
        while (line := self.lines.read()) is not None:
            then = self._one(commands, line)
            if then is not Then.STAY:
                return then
        return Then.QUIT

    def _one(self, commands: Commands, line: str) -> Then:
        try:
            reply = commands.run_line(line)
        except Refused as refused:
            self.refused += 1
            self.voice.refuse(line, str(refused))
            return Then.STAY
        self.voice.answer(line, reply)
        return reply.then


__all__ = ["Json", "Prompt", "Text", "Voice"]

"""`Commands`: all families together, and how a line is read."""

from __future__ import annotations

from blockstep.debugger.commands.blaming import Blaming
from blockstep.debugger.commands.checking import Checking
from blockstep.debugger.commands.completing import Completing
from blockstep.debugger.commands.files import Files
from blockstep.debugger.commands.info import Info
from blockstep.debugger.commands.looking import Looking
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.debugger.commands.running import Running
from blockstep.debugger.commands.table import REPEATED, Table, name_of


class Commands(Running, Looking, Info, Blaming, Checking, Files, Completing):
    """One session at a prompt. `run_line` is all that a terminal, a screen or a script needs."""

    last = ""

    def run_line(self, line: str) -> Reply:
        """Does one command, or prints the value of an expression; an empty line does the last step
        once more. Raises Refused with the reason where that cannot be done."""
        text = line.strip()
        if not text:
            text = self.last
        if not text:
            return Reply()
        if text.startswith("!"):
            return self.do_print(text[1:])
        word, rest = _split(text)
        known = self.table.known(word) and not self._computes_with(word, rest)
        if not known and self._is_expression(text, word):
            return self.do_print(text)
        name = self.table.resolve(word)
        self.last = text.split()[0] if name in REPEATED else ""
        method = getattr(self, self.table.methods[name])
        reply: Reply = method(rest)
        return reply

    def _is_expression(self, text: str, word: str) -> bool:
        """Whether a line that begins with no command is one, over names that are known here."""
        if self.stop is None or not self.stop.frames:
            return False
        try:
            self.parsed(text)
        except Refused:
            return not word.isidentifier() or " = " in text or self._is_known(word)
        return not text.isidentifier() or self._is_known(word)

    def _computes_with(self, word: str, rest: str) -> bool:
        """Whether `n + 1` means the kernel's `n`."""
        operator = rest[:1] in tuple("+*/%<>=&|^@") or rest.startswith("- ")
        return operator and bool(self.stop and self.stop.frames) and word in self.frame.locals

    def _is_known(self, name: str) -> bool:
        return name in self.frame.locals or name in self.frame.globals


def _split(text: str) -> tuple[str, str]:
    """The command and what follows it; `p(x)` is none."""
    word, _, rest = text.partition(" ")
    return word, rest.strip()


Commands.table = Table(Commands)

__all__ = ["Commands", "name_of"]

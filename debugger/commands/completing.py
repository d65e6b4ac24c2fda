"""What the Tab key offers."""

from __future__ import annotations

import glob
from collections.abc import Iterable

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.lines import begun_word
from blockstep.debugger.commands.reply import Refused
from blockstep.debugger.points import EVENTS

SUBJECTS = "args locals masks allocations findings grid layout breakpoints history".split()
_EXPRESSIONS = frozenset("print pp whatis display plot condition".split())
_ELEMENTS = frozenset("watch blame who reverse-continue precision".split())
_PLACES = frozenset("break tbreak clear".split())
_FILES = frozenset("save source".split())


class Completing(Base):
    """Completion; no commands."""

    def complete(self, line: str) -> list[str]:
        """Words that the last word of a line may become, in order."""
        begun = begun_word(line)
        before = line[: len(line) - len(begun)].strip()
        if not before:
            return _beginning(begun, self.table.methods)
        try:
            name = self.table.resolve(before.split()[0])
        except Refused:
            return _beginning(begun, self._names())
        return _beginning(begun, self._words(name, begun, before))

    def _words(self, name: str, begun: str, before: str) -> Iterable[str]:
        if name in _PLACES and " if " not in f"{before} ":
            return self.functions()
        if name in _ELEMENTS:
            return [v.name for v in self.session.views]
        if name in _FILES:
            return glob.glob(f"{glob.escape(begun)}*")
        fixed = {"info": SUBJECTS, "help": list(self.table.methods), "catch": EVENTS}
        if name in fixed or name == "uncatch":
            return fixed.get(name, EVENTS)
        expression = name in _EXPRESSIONS or name in _PLACES or name in ("element", "lane")
        return self._names() if expression else ()

    def _names(self) -> list[str]:
        """The names of the kernel here, those of its arguments at least."""
        if self.stop is None or not self.stop.frames:
            return [a.name for a in self.session.launch.bound.arguments]
        frame = self.frame
        return [*frame.locals, *(n for n in frame.globals if not n.startswith("__"))]


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word.startswith(begun)})


__all__ = ["SUBJECTS", "Completing"]

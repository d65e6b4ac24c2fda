"""The commands by name: abbreviations, usage and help are read from the methods themselves.

A command is a method `do_NAME` (`_` stands for `-`) of one of the families. The first line of its
docstring is its usage, the rest its help; nothing else has to be edited, but for a short name that
gdb or pdb have, which stands in `SHORT`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches

from blockstep.debugger.commands.reply import Refused

# gdb's and pdb's; where they differ (d, r, u) pdb's.
SHORT: Mapping[str, str] = {
    "a": "args",
    "b": "break",
    "bl": "blame",
    "bt": "where",
    "backtrace": "where",
    "c": "continue",
    "cl": "clear",
    "cond": "condition",
    "cont": "continue",
    "d": "down",
    "dis": "disable",
    "e": "element",
    "en": "enable",
    "f": "frame",
    "fin": "finish",
    "goto": "program",
    "h": "help",
    "?": "help",
    "i": "info",
    "inst": "program",
    "l": "list",
    "ll": "longlist",
    "n": "next",
    "p": "print",
    "q": "quit",
    "exit": "quit",
    "r": "return",
    "rc": "reverse-continue",
    "rf": "reverse-finish",
    "rn": "reverse-next",
    "rs": "reverse-step",
    "s": "step",
    "tb": "tbreak",
    "u": "up",
    "unt": "until",
    "w": "where",
    "wa": "watch",
}

# Commands that an empty line does once more.
REPEATED = frozenset(
    "step next until continue reverse-step reverse-next reverse-continue finish up down list".split()
)


def name_of(method: str) -> str:
    """reverse-step, for do_reverse_step."""
    return method.removeprefix("do_").removesuffix("_").replace("_", "-")


class Table:
    """What there is to say about the commands of a class."""

    def __init__(self, owner: type) -> None:
        self.order = list(owner.__mro__)
        methods = {n: getattr(owner, n) for n in dir(owner) if n.startswith("do_")}
        self.methods = {name_of(n): n for n in methods}
        self.docs = {name_of(n): inspect.getdoc(m) or "" for n, m in methods.items()}
        self.families = {
            name_of(n): next(c for c in owner.__mro__ if n in vars(c)) for n in methods
        }

    def resolve(self, word: str) -> str:
        """The command that a word means: its name, a short name, or how one alone begins.
        Raises Refused for none or several."""
        word = word.replace("_", "-")
        if word in self.methods:
            return word
        if word in SHORT:
            return SHORT[word]
        found = sorted(name for name in self.methods if name.startswith(word))
        if len(found) == 1:
            return found[0]
        if found:
            raise Refused(f"{word} may be {', '.join(found[:-1])} or {found[-1]}")
        near = get_close_matches(word, [*self.methods, *SHORT], n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `help` lists them"
        raise Refused(f"there is no command {word}{hint}")

    def known(self, word: str) -> bool:
        """Whether a word means a command."""
        try:
            self.resolve(word)
        except Refused:
            return False
        return True

    def usage(self, name: str) -> str:
        """The first line of the help."""
        return self.docs[name].partition("\n")[0]

    def summary(self, name: str) -> str:
        """The first sentence of the help."""
        text = self.docs[name].partition("\n")[2].strip().partition("\n\n")[0]
        return " ".join(text.split()).partition(". ")[0].rstrip(".:")

    def short(self, name: str) -> str:
        """The shortest other name, if there is one."""
        return min((s for s, n in SHORT.items() if n == name), key=len, default="")

    def by_family(self) -> dict[str, list[str]]:
        """Commands under the headings of their families."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.families, key=lambda n: (self.order.index(self.families[n]), n)):
            title = (inspect.getdoc(self.families[name]) or "").partition("\n")[0].rstrip(".")
            found.setdefault(title, []).append(name)
        return found


__all__ = ["REPEATED", "SHORT", "Table", "name_of"]

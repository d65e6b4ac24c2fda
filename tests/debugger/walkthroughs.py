"""Sessions as documents have them: scripts in ```python blocks, what was typed and said in ```console
blocks. `played` runs them again, through prompt_toolkit's pipe input, as a person at a terminal does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

PROMPT = "(blockstep) "
_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Session:
    """`words` follow `blockstep`; `typed` are the lines of a person; `text` is all that is shown."""

    words: list[str]
    typed: list[str]
    text: str


@dataclass(slots=True)
class Document:
    """The scripts of a document by name, and its sessions in order."""

    scripts: dict[str, str] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)


def read(file: Path) -> Document:
    """What a document has."""
    found = Document()
    for kind, name, text in _FENCE.findall(file.read_text()):
        if kind == "python" and name:
            found.scripts[name] = text
        elif kind == "console":
            found.sessions.append(_session(text))
    return found


def _session(text: str) -> Session:
    first, _, rest = text.partition("\n")
    words = first.removeprefix("$ blockstep ").split()
    typed = [
        line.removeprefix(PROMPT.rstrip()).strip()
        for line in rest.splitlines()
        if line.startswith(PROMPT.rstrip())
    ]
    return Session(words, typed, rest)


def with_texts(document: str, texts: list[str]) -> str:
    """A document whose console blocks have other texts."""
    left = iter(texts)

    def put(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        first = match[3].partition("\n")[0]
        return f"```console\n{first}\n{next(left)}```"

    return _FENCE.sub(put, document)

"""Where the lines come from that a person or a script types: a terminal, a pipe, a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TextIO

PROMPT = "(blockstep) "
Complete = Callable[[str], list[str]]


class Lines(Protocol):
    """`read()` gives the next line; None when there are no more."""

    def read(self) -> str | None: ...


class Terminal:
    """prompt_toolkit's line editor: history over sessions, completion with Tab.

    `input` and `output` are prompt_toolkit's, for tests."""

    def __init__(self, complete: Complete, input: Any = None, output: Any = None) -> None:
        from prompt_toolkit import PromptSession

        self._session: Any = PromptSession(
            history=history(), completer=completer(complete), complete_while_typing=False,
            input=input, output=output, enable_history_search=True,
        )  # fmt: skip

    def read(self) -> str | None:
        """One line; Ctrl-C gives it up and begins another, Ctrl-D ends."""
        while True:
            try:
                line: str = self._session.prompt(PROMPT)
                return line
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None


class Pipe:
    """A stream that is no terminal. Each line is repeated, so that what is written reads like a
    session at a terminal; `#` begins a comment where a command could begin."""

    def __init__(self, source: TextIO | Iterable[str], echo: TextIO | None = None) -> None:
        self._lines: Iterator[str] = iter(source)
        self._echo = echo

    def read(self) -> str | None:
        """The next line that is no comment."""
        for line in self._lines:
            text = line.rstrip("\r\n")
            if text.lstrip().startswith("#"):
                continue
            if self._echo is not None:
                print(f"{PROMPT}{text}".rstrip(), file=self._echo, flush=True)
            return text
        return None


class Chain:
    """One source after another: the lines of files first, then those of a person."""

    def __init__(self, sources: Iterable[Lines]) -> None:
        self._sources = list(sources)

    def read(self) -> str | None:
        """The next line of the first source that has one."""
        while self._sources:
            line = self._sources[0].read()
            if line is not None:
                return line
            del self._sources[0]
        return None


def of_person(complete: Complete) -> Lines:
    """A terminal where there is one, else the process's standard input."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return Terminal(complete)
    return Pipe(sys.stdin, sys.stdout)


def of_file(file: str, echo: TextIO | None = None) -> Pipe:
    """The commands in a file. Raises OSError."""
    return Pipe(commands_in(file), echo)


def commands_in(file: str) -> list[str]:
    """The lines of a file that are not empty and no comments. Raises OSError."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def history_file() -> Path:
    """Where lines are kept for the next session: `XDG_STATE_HOME`, or `~/.local/state`."""
    folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(folder, "blockstep", "history")


def history() -> Any:
    """prompt_toolkit's history of lines, kept between sessions where a file can be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("ab").close()
    except OSError:  # a home that cannot be written to: this session's lines only
        return InMemoryHistory()
    return FileHistory(str(file))


def completer(complete: Complete) -> Any:
    """prompt_toolkit's completer of what `complete` offers for a line."""
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            line = document.text_before_cursor
            begun = begun_word(line)
            for word in complete(line):
                yield Completion(word, start_position=-len(begun))

    return Words()


def begun_word(line: str) -> str:
    """The word at the end of a line that completion replaces."""
    end = len(line)
    start = end
    while start and (line[start - 1].isalnum() or line[start - 1] in "_.-/:"):
        start -= 1
    return line[start:end]


__all__ = [
    "PROMPT",
    "Chain",
    "Lines",
    "Pipe",
    "Terminal",
    "begun_word",
    "commands_in",
    "completer",
    "history",
    "history_file",
    "of_file",
    "of_person",
]

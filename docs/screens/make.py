"""Makes the pictures of docs/screen.md: the debugger in tmux, keys sent, what is on the terminal as SVG.

python docs/screens/make.py [NAME ...]        # from the repository's root; needs tmux
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
WIDTH, HEIGHT = 8.4, 18  # of a character
COMMAND = "python -m blockstep debug --tui {options} docs/screens/demo.py"
NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
DARK = ("#14161b", "#c0392b", "#4f9a5c", "#c9a227", "#3a63b8", "#a0459c", "#2a9aa8", "#c8ccd4")
BRIGHT = ("#727b8c", "#ff7a7a", "#8fd08a", "#ffe066", "#7fc1ff", "#e28ae0", "#7fe0e0", "#ffffff")


@dataclass(frozen=True)
class Picture:
    """A terminal of a size, and the keys of tmux that lead to what is shown."""

    size: tuple[int, int]
    keys: tuple[str, ...]
    options: str = "--kernel project --program 7,2,1"
    environment: str = "COLORTERM=truecolor"


TO_DOT = ("F10",) * 7
PICTURES = {
    "debug-80x24": Picture((80, 24), TO_DOT),
    "debug-200x60": Picture((200, 60), (*TO_DOT, "F10", "F10")),
    "debug-120x32": Picture((120, 32), (*TO_DOT, "M-2")),
    "heat-map": Picture((80, 24), (*TO_DOT, "M-2", "Tab", "Tab", "Down", "Down", "Right")),
    "grid": Picture((80, 24), (*TO_DOT, "F10", "F10", "M-3")),
    "memory": Picture((80, 24), (*TO_DOT, "M-4", "Tab", "Tab", "Enter")),
    "help": Picture((80, 24), ("?",)),
    "heat-map-16": Picture((80, 24), (*TO_DOT, "M-2"), environment="TERM=screen COLORTERM="),
    "heat-map-no-colour": Picture((80, 24), (*TO_DOT, "M-2"), environment="NO_COLOR=1"),
    "heat-map-ascii": Picture((80, 24), (*TO_DOT, "M-2"), environment="NO_COLOR=1 PYTHONIOENCODING=ascii"),
}  # fmt: skip


def tmux(*words: str) -> str:
    """A tmux of our own, with none of a person's settings."""
    done = subprocess.run(["tmux", "-L", "blockstep-screens", "-f", "/dev/null", *words], capture_output=True, text=True)  # fmt: skip
    return done.stdout


def taken(picture: Picture) -> str:
    """What the terminal shows at the end, with its colours."""
    columns, rows = picture.size
    command = COMMAND.format(options=picture.options).replace("python", sys.executable, 1)
    state = os.path.join(tempfile.gettempdir(), "blockstep-screens")  # a history of its own
    path = f"PYTHONPATH={os.environ.get('PYTHONPATH', os.getcwd())} XDG_STATE_HOME={state}"
    tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), f"env {path} {picture.environment} {command}; cat")  # fmt: skip
    tmux("set-option", "-g", "status", "off")
    try:
        settled()
        for key in picture.keys:
            tmux("send-keys", key)
            settled()
        return tmux("capture-pane", "-e", "-p", "-N")
    finally:
        tmux("kill-server")


def settled() -> None:
    """Waits until what is shown stays the same."""
    before, same = "", 0
    while same < 4:
        time.sleep(0.15)
        now = tmux("capture-pane", "-p")
        same = same + 1 if now == before and now.strip() else 0
        before = now


@dataclass(frozen=True)
class Look:
    """Of a character."""

    front: str | None = None
    back: str | None = None
    bold: bool = False
    italic: bool = False
    under: bool = False
    reverse: bool = False

    @property
    def colours(self) -> tuple[str, str]:
        """Of the character and behind it."""
        front, back = self.front or "#d8dce4", self.back or "#14161b"
        return (back, front) if self.reverse else (front, back)


def changed(look: Look, codes: list[int]) -> Look:
    """A look after a sequence of SGR codes."""
    numbers = iter(codes)
    for code in numbers:
        if code == 0:
            look = Look()
        elif code in (1, 3, 4, 7):
            look = replace(look, **{{1: "bold", 3: "italic", 4: "under", 7: "reverse"}[code]: True})  # type: ignore[arg-type]
        elif code in (38, 48):
            side = "front" if code == 38 else "back"
            look = replace(look, **{side: _many(numbers)})  # type: ignore[arg-type]
        elif code in (39, 49):
            look = replace(look, **{"front" if code == 39 else "back": None})  # type: ignore[arg-type]
        else:
            look = _few(look, code)
    return look


def _few(look: Look, code: int) -> Look:
    for first, side, table in ((30, "front", DARK), (40, "back", DARK), (90, "front", BRIGHT), (100, "back", BRIGHT)):  # fmt: skip
        if first <= code < first + 8:
            return replace(look, **{side: table[code - first]})  # type: ignore[arg-type]
    return look


def _many(numbers: Iterator[int]) -> str:
    if next(numbers) == 2:
        return f"#{next(numbers):02x}{next(numbers):02x}{next(numbers):02x}"
    number = next(numbers)
    if number < 16:
        return (*DARK, *BRIGHT)[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return f"#{steps[number // 36]:02x}{steps[number // 6 % 6]:02x}{steps[number % 6]:02x}"


def runs(line: str, look: Look) -> Iterator[tuple[str, Look]]:
    """Stretches of a line that look the same; the last, empty one has the look that goes on."""
    at = 0
    for found in re.finditer(r"\x1b\[([\d;:]*)m", line):
        if found.start() > at:
            yield line[at : found.start()], look
        look = changed(look, [int(n or 0) for n in re.split("[;:]", found[1])])
        at = found.end()
    yield line[at:], look


def svg(text: str, size: tuple[int, int]) -> str:
    """A terminal as a picture."""
    columns, rows = size
    width, height = columns * WIDTH + 16, rows * HEIGHT + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}">',
        '<style>text{font:14px "DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}</style>',
        '<rect width="100%" height="100%" rx="6" fill="#14161b"/>',
    ]
    look = Look()
    for row, line in enumerate(text.split("\n")[:rows]):
        column = 0
        for part, found in runs(line, look):
            look = found
            parts += drawn(part, look, column, row)
            column += sum(wide(c) for c in part)
    return "\n".join([*parts, "</svg>", ""])


def wide(character: str) -> int:
    """Columns of a character."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def drawn(part: str, look: Look, column: int, row: int) -> Iterator[str]:
    """The rectangle behind a stretch, and its text; each word at its own place."""
    front, back = look.colours
    x, y = 8 + column * WIDTH, 8 + row * HEIGHT
    if back != "#14161b" and part:
        yield f'<rect x="{x:g}" y="{y}" width="{len(part) * WIDTH + 0.3:g}" height="{HEIGHT + 0.3}" fill="{back}"/>'
    told = ' font-weight="bold"' if look.bold else ""
    told += ' font-style="italic"' if look.italic else ""
    told += ' text-decoration="underline"' if look.under else ""
    for word in re.finditer(r"\S+(?: \S+)*", part):
        left, length = x + word.start() * WIDTH, len(word[0]) * WIDTH
        yield f'<text x="{left:g}" y="{y + 13.5}" fill="{front}" textLength="{length:g}"{told}>{escape(word[0])}</text>'


def main(chosen: list[str]) -> None:
    """Writes the pictures that are named, or all."""
    for name in chosen or PICTURES:
        picture = PICTURES[name]
        (HERE / f"{name}.svg").write_text(svg(taken(picture), picture.size), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])

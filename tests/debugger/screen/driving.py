"""The real application, through a pipe for keys and an output that keeps what is drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Then
from blockstep.debugger.screen.screen import Screen
from blockstep.debugger.session import Session
from blockstep.debugger.views.palette import Palette

NAMES = {
    "F5": "\x1b[15~", "S-F5": "\x1b[15;2~", "C-F5": "\x1b[15;5~", "A-F5": "\x1b[15;3~",
    "F9": "\x1b[20~", "F10": "\x1b[21~", "C-F10": "\x1b[21;5~", "A-F10": "\x1b[21;3~",
    "F11": "\x1b[23~", "S-F11": "\x1b[23;2~", "C-F11": "\x1b[23;5~", "Enter": "\r", "Tab": "\t",
    "S-Tab": "\x1b[Z", "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
    "C-c": "\x03", "C-d": "\x04", "PgDn": "\x1b[6~", "A-3": "\x1b3",
}  # fmt: skip


class Terminal(DummyOutput):
    """Of a size."""

    def __init__(self, columns: int, rows: int) -> None:
        self.size = Size(rows=rows, columns=columns)

    def get_size(self) -> Size:
        return self.size

    def fileno(self) -> int:
        raise NotImplementedError


class Driven:
    """A screen that runs: `press` keys, then look at `text`."""

    def __init__(self, screen: Screen, pipe: Any) -> None:
        self.screen, self.pipe = screen, pipe

    @property
    def rows(self) -> list[str]:
        """What is on the terminal."""
        drawn = self.screen.app.renderer.last_rendered_screen
        assert drawn is not None
        size = self.screen.app.output.get_size()
        return [
            "".join(drawn.data_buffer[y][x].char for x in range(size.columns)).rstrip()
            for y in range(size.rows)
        ]

    @property
    def text(self) -> str:
        """The rows as one text."""
        return "\n".join(self.rows)

    async def press(self, *keys: str) -> str:
        """Sends keys by name, other text as it is; the screen when all is done."""
        for key in keys:
            self.pipe.send_text(NAMES.get(key, key))
            await self.settle()
        return self.text

    async def click(self, column: int, row: int) -> str:
        """The left button, pressed and let go."""
        for letter in "Mm":
            self.pipe.send_text(f"\x1b[<0;{column + 1};{row + 1}{letter}")
        await self.settle()
        return self.text

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for something that comes by itself."""
        while not holds() and self.screen.app.is_running:
            await asyncio.sleep(0.01)

    async def settle(self) -> None:
        """Waits until input is read, commands are done and the screen is drawn."""
        for _ in range(3):
            await asyncio.sleep(0.01)
            await self.until(lambda: not self.screen.state.busy)
        if self.screen.app.is_running:
            self.screen.app._redraw()


def drive(
    session: Session,
    script: Callable[[Driven], Any],
    size: tuple[int, int] = (80, 24),
    palette: Palette | None = None,
    program: tuple[int, int, int] | None = None,
) -> Then:
    """Runs `script` with a screen on a session that stands at the first line of `program`. The screen
    ends by itself, or with the script; how it ended."""

    async def whole() -> Then:
        with create_pipe_input() as pipe, create_app_session(pipe, Terminal(*size)):
            commands = Commands(session)
            screen = Screen(commands, palette or Palette(), None, pipe, Terminal(*size))
            screen.arrive(session.stop or session.start(program))
            running = asyncio.ensure_future(screen.app.run_async(handle_sigint=False))
            driven = Driven(screen, pipe)
            await driven.settle()
            talk = asyncio.ensure_future(script(driven))
            await asyncio.wait([talk, running], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                screen.app.exit(result=Then.STAY)
            result = await running
            await talk
            return result

    return asyncio.run(whole())


def lines(text: str, first: int, last: int) -> Sequence[str]:
    """Some rows of a screen."""
    return text.split("\n")[first : last + 1]

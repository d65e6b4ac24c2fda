"""`Screen`: the application. State, panes and keys are wired here, and commands run.

A command runs in a thread, so that the screen answers while the kernel runs; one at a time. What a
person sees of the session is the scene of its last stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
from prompt_toolkit.key_binding.key_bindings import KeyBindingsBase
from prompt_toolkit.layout import DynamicContainer, Layout
from prompt_toolkit.layout.containers import Container, Window
from prompt_toolkit.output import ColorDepth

from blockstep.debugger.blame import writers
from blockstep.debugger.commands import lines
from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Refused, Reply, Then
from blockstep.debugger.moments import Stop
from blockstep.debugger.screen import keys, panes
from blockstep.debugger.screen.acting import Array, Block, Memory, acts_of
from blockstep.debugger.screen.scene import scene_of
from blockstep.debugger.screen.state import COMMAND, TABS, State
from blockstep.debugger.screen.style import style_of
from blockstep.debugger.views.palette import Depth, Palette

_DEPTHS = {
    Depth.FULL: ColorDepth.DEPTH_24_BIT, Depth.SIXTEEN: ColorDepth.DEPTH_4_BIT,
    Depth.NONE: ColorDepth.DEPTH_1_BIT,
}  # fmt: skip
LARGE = (140, 44)  # columns and rows from which on all panes are shown
WIDE = 120  # columns from which on two panes stand side by side
_SHOWN = ("F5", "F9", "F10", "F11", "S-F11", "C-F10", "Tab", "?")
_SHORT = {
    "F5": "continue", "F9": "break", "F10": "next", "F11": "step", "S-F11": "finish",
    "C-F10": "back", "Tab": "panes", "?": "help",
}  # fmt: skip

_ASKING = ("print", "blame", "watch")  # what panes do to be told something
_OF_MAP = [
    ("[ ]", "page"), ("a", "axes"), ("z", "pages"), ("Esc", "command"), ("v", "numbers"), ("?", "help"),
]  # fmt: skip
_OF_PANE = {
    "block": [("< >", "name"), ("m", "mask"), ("Enter", "print")],
    "memory": [("< >", "argument"), ("Enter", "writers"), ("b", "blame"), ("w", "watch")],
    "grid": [("Enter", "go there")],
}


class Screen:
    """One session on the whole terminal. `input` and `output` are prompt_toolkit's."""

    def __init__(
        self, commands: Commands, palette: Palette, depth: ColorDepth | None = None,
        input: Any = None, output: Any = None,
    ) -> None:  # fmt: skip
        keys.know_alt()
        self.commands = commands
        self.state = State(commands, palette, scene_of(commands))
        self.acts = acts_of(self.state, self.submit, self.ask_writers)
        self._tables = [keys.running_keys(self), keys.moving_keys(self)]
        self._letters = keys.letter_keys(self)
        self.windows: dict[str, Window] = {}
        self.focused = "command"
        self.buffer = self._buffer()
        self.windows |= {name: panes.pane(self, name) for name in ("source", *TABS)}
        self._bodies = [panes.tabbed(self), panes.side_by_side(self), panes.everything(self)]
        whole = panes.whole(self, DynamicContainer(self._body), self.buffer)
        self.app: Application[Then] = Application(
            Layout(whole, self.windows["command"]), style=style_of(palette.depth),
            key_bindings=self._bindings(), full_screen=True, mouse_support=True,
            color_depth=depth or _DEPTHS[palette.depth], input=input, output=output,
        )  # fmt: skip
        self.app.ttimeoutlen = 0.1  # seconds that Esc alone waits for what an F-key goes on with

    def arrive(self, stop: Stop) -> None:
        """Shows a stop that no command led to."""
        self.commands.color = False  # the panes have styles of their own
        self.commands.arrived(stop)
        self.state.say(self.commands.arrival().text)
        self.state.refresh()

    def run(self, stop: Stop, first: list[str]) -> Then:
        """Until the script goes on, or ends; the commands in `first` come before."""
        self.arrive(stop)
        return self.app.run(pre_run=lambda: self.begin(first), handle_sigint=False)

    def begin(self, lines: list[str]) -> None:
        """Does commands one after the other, and takes them out, until one ends the screen."""
        if lines:
            self._background(self._do_all(lines))

    # Layout.

    def version(self) -> int:
        """Counts what changes the panes."""
        return self.state.version

    def _body(self) -> Container:
        columns, rows = panes.size()
        if columns >= LARGE[0] and rows >= LARGE[1]:
            return self._bodies[2]
        return self._bodies[1] if columns >= WIDE else self._bodies[0]

    def chosen_tab(self) -> Container:
        """The window of the tab that is shown."""
        return DynamicContainer(lambda: self.windows[self.state.tab])

    def is_large(self) -> bool:
        """Whether all panes are shown."""
        return self._body() is self._bodies[2]

    def focus(self, name: str) -> None:
        """Keys go to a pane, or to the command line; a tab is shown for it."""
        if name in TABS and not self.is_large():
            self.show_only(name)
        self.focused = name
        self.app.layout.focus(self.windows[name])
        self.state.changed()

    def focus_next(self, by: int) -> None:
        """The next thing that keys may go to."""
        shown = TABS if self.is_large() else (self.state.tab,)
        order = ["command", "source", *shown]
        at = order.index(self.focused) if self.focused in order else 0
        self.focus(order[(at + by) % len(order)])

    def show_only(self, name: str) -> None:
        """Shows a tab; keys stay where they are, but for those of a pane that goes."""
        self.state.tab = name
        if name == "findings":
            self.state.seen = len(self.state.scene.findings)
        if self.focused in TABS and self.focused != name and not self.is_large():
            self.focused = name
            self.app.layout.focus(self.windows[name])
        self.state.changed()

    def show_tab(self, name: Any) -> None:
        """A tab was clicked."""
        if name in TABS:
            self.show_only(name)

    def show_tab_number(self, number: int) -> None:
        """A tab by its number, from 1. On a large screen keys go to that pane."""
        name = TABS[number - 1]
        if self.is_large():
            self.focus(name)
        else:
            self.show_only(name)

    def in_pane(self) -> bool:
        """Whether keys go to a pane."""
        return self.focused not in ("command", "help")

    def types_nothing(self) -> bool:
        """Whether no command is being typed."""
        return self.focused != "command" or not self.buffer.text

    # Keys.

    def _bindings(self) -> KeyBindingsBase:
        return merge_key_bindings([table.bindings for table in self._tables])

    def pane_keys(self, name: str) -> KeyBindingsBase:
        """Keys of one pane."""
        act = self.acts[name]
        tables = [self._letters, keys.cursor_keys(self, name)]
        if isinstance(act, Array):
            tables.append(keys.map_keys(self, act))
        if isinstance(act, Block):
            tables.append(keys.mask_keys(self, act))
        if isinstance(act, Memory):
            tables.append(keys.memory_keys(self, act))
        return merge_key_bindings([table.bindings for table in tables])

    def command_keys(self) -> KeyBindings:
        """Keys of the command line."""
        return keys.command_keys(self)

    def help_sections(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """What the help overlay shows."""
        block, memory = self.acts["block"], self.acts["memory"]
        assert isinstance(block, Block) and isinstance(memory, Memory)
        maps = [*keys.map_keys(self, block).help, *keys.mask_keys(self, block).help]
        maps += keys.memory_keys(self, memory).help
        return [
            ("Everywhere", self._tables[0].help),
            ("Looking around", self._tables[1].help),
            ("In a pane", [*keys.cursor_keys(self, "block").help, *self._letters.help]),
            ("In a map", maps),
            ("Mouse", _MOUSE),
        ]

    def shown_keys(self) -> Sequence[tuple[str, str]]:
        """Keys at the bottom of the screen, and what they do."""
        if self.state.busy:
            return (("C-c", "stop the kernel at its line"),)
        act = self.acts.get(self.focused)
        if isinstance(act, Array):
            return [*_OF_PANE.get(self.focused, ()), *_OF_MAP]
        return [(name, _SHORT[name]) for name in _SHOWN]

    def press(self, name: Any) -> None:
        """A key at the bottom was clicked."""
        for table in self._tables:
            if name in table.actions:
                table.actions[name](None)

    def acted(self, act: Callable[[], None]) -> None:
        """Something that a pane does."""
        act()
        self.state.changed()

    def toggle(self) -> None:
        """A breakpoint on the chosen line of source."""
        self.acts["source"].enter()

    def scroll(self, by: int) -> None:
        """Another line of source."""
        self.acted(lambda: self.acts["source"].move(by, 0))

    def open_help(self) -> None:
        """Shows the keys."""
        self.state.help = True
        self.focused = "help"
        self.app.layout.focus(self.windows["help"])
        self.state.changed()

    def close_help(self) -> None:
        """Back to the command line."""
        self.state.help = False
        self.focus("command")

    # Commands.

    def _buffer(self) -> Buffer:
        return Buffer(
            multiline=False, history=lines.history(), completer=lines.completer(self.commands.complete),
            accept_handler=self._accept, enable_history_search=True, name="command",
        )  # fmt: skip

    def _accept(self, buffer: Buffer) -> bool:
        self.submit(buffer.text)
        return False

    def submit(self, line: str) -> None:
        """Does a command, unless one runs."""
        if self.state.busy:
            self.state.say("the kernel runs: Ctrl-C stops it", "class:output.refused")
            return
        self._background(self._do(line))

    def ask_writers(self, name: str) -> None:
        """Finds out who wrote the elements of an argument."""
        if not self.state.busy:
            self._background(self._find_writers(name))

    def stop(self) -> None:
        """Ends the script; a kernel that runs is stopped first."""
        if self.state.busy:
            self.commands.session.interrupt()
        else:
            self.submit("quit")

    def interrupt(self) -> None:
        """A kernel that runs stops at its line."""
        if self.state.busy:
            self.commands.session.interrupt()
        else:
            self.buffer.reset()
            self.focus("command")

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        self.state.busy = True
        self.state.changed()
        self.app.create_background_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """What fails inside ends the screen with its traceback: it is a fault of ours."""
        try:
            await work
        except Exception as error:  # noqa: BLE001  (raised again where the screen was opened)
            self.app.exit(exception=error)
        finally:
            self.state.busy = False
            self.state.changed()
            self.app.invalidate()

    async def _do_all(self, lines: list[str]) -> None:
        while lines and not self.app.is_done:
            await self._do(lines.pop(0))

    async def _do(self, line: str) -> None:
        if line.strip():
            self.state.say(f"> {line}", COMMAND)
        before = self.commands.stop
        try:
            reply = await asyncio.to_thread(self.commands.run_line, line)
        except Refused as refused:
            self.state.say(str(refused), "class:output.refused")
            self._show_answer(line)
            return
        self._answered(line, reply, before)

    def _answered(self, line: str, reply: Reply, before: Stop | None) -> None:
        if reply.text:
            self.state.say(reply.text)
        self.state.refresh()
        if self.is_large() or self.state.tab == "findings":
            self.state.seen = len(self.state.scene.findings)
        if reply.text and self.commands.stop is before:
            self._show_answer(line)
        if reply.then is not Then.STAY:
            self.app.exit(result=reply.then)

    def _show_answer(self, line: str) -> None:
        """Brings the output in sight, if somebody waits for it: not for a click."""
        asked = self.focused == "command" or line.partition(" ")[0] in _ASKING
        if asked and not self.is_large():
            self.show_only("output")

    async def _find_writers(self, name: str) -> None:
        def found() -> Any:
            with self.commands.fresh_launch() as launch:
                return writers(launch, name)

        self.state.writers[name] = await asyncio.to_thread(found)


_MOUSE = [
    ("line", "Breakpoint on or off"),
    ("instance", "Go there"),
    ("element", "Value and indices"),
    ("name, call", "Look at it"),
    ("wheel", "Scroll the pane"),
]

__all__ = ["Screen"]

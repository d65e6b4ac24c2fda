"""Keys, each a function whose docstring is its help.

F-keys are those of VS Code; with Ctrl or Alt they go back. Letters work in a pane, not where commands
are typed. All of them pass through ssh and tmux (docs/screen.md has what terminals do to them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prompt_toolkit.filters import Condition
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys as Names

from blockstep.debugger.screen.acting import Array, Block, Memory

if TYPE_CHECKING:
    from blockstep.debugger.screen.screen import Screen

Handler = Callable[[Any], None]
# Alt with an F-key as xterm and tmux send it; prompt_toolkit knows these keys without Alt only.
_ALT = {"\x1b[15;3~": Names.F5, "\x1b[21;3~": Names.F10, "\x1b[23;3~": Names.F11}


@dataclass(slots=True)
class Table:
    """Bindings, and what the help says of them. Keys of one function are other ways to press it."""

    bindings: KeyBindings = field(default_factory=KeyBindings)
    help: list[tuple[str, str]] = field(default_factory=list)
    actions: dict[str, Handler] = field(default_factory=dict)  # by the name that is shown

    def on(
        self, shown: str, *keys: tuple[str, ...], when: Any = True
    ) -> Callable[[Handler], Handler]:
        """The function is called for each of these sequences of keys."""

        def add(handler: Handler) -> Handler:
            for sequence in keys:
                self.bindings.add(*sequence, filter=when)(handler)
            self.help.append((shown, (handler.__doc__ or "").strip().rstrip(".")))
            self.actions[shown] = handler
            return handler

        return add


def running_keys(screen: Screen) -> Table:
    """Keys that run the kernel; they work everywhere."""
    table = Table()

    @table.on("F5", ("f5",))
    def _(event: Any) -> None:
        """Continue."""
        screen.submit("continue")

    @table.on("S-F5", ("f17",))
    def _(event: Any) -> None:
        """Stop, end the script."""
        screen.stop()

    @table.on("F10", ("f10",))
    def _(event: Any) -> None:
        """Next line, over calls."""
        screen.submit("next")

    @table.on("F11", ("f11",))
    def _(event: Any) -> None:
        """Next line, into calls."""
        screen.submit("step")

    @table.on("S-F11", ("f23",))
    def _(event: Any) -> None:
        """Finish this call."""
        screen.submit("finish")

    @table.on("F9", ("f9",))
    def _(event: Any) -> None:
        """Breakpoint on or off."""
        screen.toggle()

    @table.on("C-F5", ("c-f5",), ("escape", "f5"))
    def _(event: Any) -> None:
        """Continue back (A-F5)."""
        screen.submit("reverse-continue")

    @table.on("C-F10", ("c-f10",), ("escape", "f10"))
    def _(event: Any) -> None:
        """Back, over calls (A-F10)."""
        screen.submit("reverse-next")

    @table.on("C-F11", ("c-f11",), ("escape", "f11"))
    def _(event: Any) -> None:
        """Back, into calls (A-F11)."""
        screen.submit("reverse-step")

    @table.on("C-c", ("c-c",))
    def _(event: Any) -> None:
        """Stop a running kernel."""
        screen.interrupt()

    return table


def moving_keys(screen: Screen) -> Table:
    """Keys that choose what is looked at; they work everywhere."""
    table = Table()
    empty = Condition(screen.types_nothing)

    @table.on("Tab", ("tab",), when=empty)
    def _(event: Any) -> None:
        """Next pane, or completion."""
        screen.focus_next(1)

    @table.on("S-Tab", ("s-tab",))
    def _(event: Any) -> None:
        """Pane before."""
        screen.focus_next(-1)

    @table.on("Esc", ("escape",))
    def _(event: Any) -> None:
        """To the command line."""
        screen.focus("command")

    @table.on("?", ("?",), when=empty)
    def _(event: Any) -> None:
        """This help."""
        screen.open_help()

    for number in range(1, 9):
        _tab_key(table, screen, number)
    table.help.append(("A-1..8", "Tabs (in panes: 1..8)"))

    @table.on("PgUp", ("pageup",))
    def _(event: Any) -> None:
        """Source, up."""
        screen.scroll(-10)

    @table.on("PgDn", ("pagedown",))
    def _(event: Any) -> None:
        """Source, down."""
        screen.scroll(10)

    return table


def _tab_key(table: Table, screen: Screen, number: int) -> None:
    """Alt and a number everywhere, the number alone in a pane."""

    def show(event: Any) -> None:
        screen.show_tab_number(number)

    table.bindings.add("escape", str(number))(show)
    table.bindings.add(str(number), filter=Condition(screen.in_pane))(show)


def letter_keys(screen: Screen) -> Table:
    """Letters that run the kernel, in panes."""
    table = Table()
    lines = {
        "n": ("next", "N", "reverse-next"), "s": ("step", "S", "reverse-step"),
        "c": ("continue", "C", "reverse-continue"), "f": ("finish", "F", "reverse-finish"),
        "u": ("until", None, ""),
    }  # fmt: skip

    def add(key: str, line: str) -> None:
        table.bindings.add(key)(lambda event: screen.submit(line))

    for letter, (line, upper, reverse) in lines.items():
        add(letter, line)
        if upper is not None:
            add(upper, reverse)
    table.help.append(("n s c f u", "As F10 F11 F5 S-F11, until"))
    table.help.append(("N S C F", "The same backwards"))
    table.bindings.add(":")(lambda event: screen.focus("command"))
    return table


def cursor_keys(screen: Screen, name: str) -> Table:
    """Keys of every pane: its cursor."""
    table = Table()
    act = screen.acts[name]

    def move(down: int, across: int) -> Handler:
        return lambda event: screen.acted(lambda: act.move(down, across))

    for key, (down, across) in {
        "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "s-up": (-8, 0),
        "s-down": (8, 0), "s-left": (0, -8), "s-right": (0, 8),
    }.items():  # fmt: skip
        table.bindings.add(key)(move(down, across))
    table.help.append(("arrows", "Cursor (Shift: by eight)"))

    @table.on("Enter", ("enter",))
    def _(event: Any) -> None:
        """Act on what is there."""
        screen.acted(act.enter)

    @table.on("< >", ("<",), (">",))
    def _(event: Any) -> None:
        """Other name or argument."""
        screen.acted(lambda: act.other(1 if event.key_sequence[0].key == ">" else -1))

    table.bindings.add(",")(lambda event: screen.acted(lambda: act.other(-1)))
    table.bindings.add(".")(lambda event: screen.acted(lambda: act.other(1)))
    return table


def map_keys(screen: Screen, act: Array) -> Table:
    """Keys of maps of arrays."""
    table = Table()

    @table.on("[ ]", ("[",), ("]",))
    def _(event: Any) -> None:
        """Page of the other axes."""
        screen.acted(lambda: act.turn(1 if event.key_sequence[0].key == "]" else -1))

    @table.on("a", ("a",))
    def _(event: Any) -> None:
        """Other axes down, across."""
        screen.acted(act.axes)

    @table.on("z", ("z",))
    def _(event: Any) -> None:
        """Whole, or in pages."""
        screen.acted(act.pages)

    @table.on("v", ("v",))
    def _(event: Any) -> None:
        """Numbers or colours."""
        screen.acted(act.numbers)

    return table


def mask_keys(screen: Screen, act: Block) -> Table:
    """Keys of the block alone."""
    table = Table()

    @table.on("m", ("m",))
    def _(event: Any) -> None:
        """Other mask, or none."""
        screen.acted(act.mask)

    return table


def memory_keys(screen: Screen, act: Memory) -> Table:
    """Keys of the memory alone."""
    table = Table()

    @table.on("b", ("b",))
    def _(event: Any) -> None:
        """Blame: who wrote it."""
        screen.acted(lambda: act.ask("blame"))

    @table.on("w", ("w",))
    def _(event: Any) -> None:
        """Watch it."""
        screen.acted(lambda: act.ask("watch"))

    return table


def command_keys(screen: Screen) -> KeyBindings:
    """Keys of the command line."""
    bindings = KeyBindings()
    typing = Condition(lambda: not screen.types_nothing())

    @bindings.add("tab", filter=typing)
    def _(event: Any) -> None:
        """Completes the word."""
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    @bindings.add("c-d", filter=~typing)
    def _(event: Any) -> None:
        """Ends the script, as `quit` does."""
        screen.stop()

    return bindings


def help_keys(screen: Screen) -> KeyBindings:
    """Any key closes the help."""
    bindings = KeyBindings()
    bindings.add("<any>", eager=True)(lambda event: screen.close_help())
    bindings.add("escape", eager=True)(lambda event: screen.close_help())
    return bindings


def know_alt() -> None:
    """Teaches the parser of terminal input Alt with the F-keys that go back."""
    for sequence, key in _ALT.items():
        ANSI_SEQUENCES.setdefault(sequence, (Names.Escape, key))


__all__ = ["Table", "command_keys", "cursor_keys", "help_keys", "know_alt", "letter_keys", "map_keys", "mask_keys", "moving_keys", "running_keys"]  # fmt: skip

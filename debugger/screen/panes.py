"""The containers of the screen: a function for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.layout.containers import (
    ConditionalContainer,
    Container,
    Float,
    FloatContainer,
    HSplit,
    VSplit,
    Window,
)
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput

from blockstep.debugger.screen import drawing, keys
from blockstep.debugger.screen.control import Pane
from blockstep.debugger.views import status
from blockstep.debugger.views.text import Line, Shown

if TYPE_CHECKING:
    from blockstep.debugger.screen.screen import Screen


MAPS = ("block", "grid", "memory")


def line_of(screen: Screen, draw: drawing.Draws, clicked: Callable[[Any], None] | None = None, style: str = "") -> Window:  # fmt: skip
    """A line that is no pane: keys never go to it."""
    state = screen.state
    control = Pane(lambda w, h: draw(state, w, h), screen.version, clicked, focuses=False)
    return Window(control, height=1, style=style, dont_extend_height=True)


def pane(screen: Screen, name: str) -> Window:
    """The view of one subject. A click acts on what it hits; where that moves a cursor, keys follow."""
    state, act = screen.state, screen.acts[name]
    draw = drawing.DRAWS[name]

    def clicked(target: Any) -> None:
        if act.has_cursor or target is None:
            screen.focus(name)
        if target is not None:
            act.clicked(target)
        state.changed()

    def scrolled(by: int) -> None:
        act.move(by, 0)
        state.changed()

    control = Pane(
        lambda w, h: draw(state, w, h),
        screen.version,
        clicked,
        scrolled,
        keys=screen.pane_keys(name),
    )
    return Window(control, wrap_lines=False, always_hide_cursor=True)


def headed(screen: Screen, name: str, height: Any = None, width: Any = None) -> Container:
    """A pane below a line with its name."""

    def draw(state: Any, w: int, h: int) -> Shown:
        chosen = screen.focused == name
        text = drawing.heading_of(state, name)
        return Shown([status.heading(text, w, chosen, state.palette)])

    head = line_of(screen, draw, None)
    return HSplit([head, screen.windows[name]], height=height, width=width)


def bar(screen: Screen) -> Window:
    """Between panes that stand side by side."""
    return Window(width=1, char=screen.state.palette.signs.bar, style="class:pane.line")


def command_line(screen: Screen, buffer: Buffer) -> Window:
    """Where commands are typed."""
    prompt = BeforeInput("(blockstep) ", style="class:prompt")
    control = BufferControl(buffer, input_processors=[prompt], key_bindings=screen.command_keys())
    return Window(control, height=1, dont_extend_height=True)


def status_bar(screen: Screen) -> Window:
    """Keys that work everywhere; a click does what the key does."""

    def draw(state: Any, w: int, h: int) -> Shown:
        return status.keys(screen.shown_keys(), w)

    return line_of(screen, draw, screen.press)


def tabbed(screen: Screen) -> Container:
    """For small terminals: the source, and one other pane below it."""
    tabs = line_of(screen, drawing.draw_tabs, screen.show_tab)
    chosen = screen.chosen_tab()

    def share(own: int, maps: int) -> Callable[[], Dimension]:
        """Rows in twentieths: maps want more room than lists, unless keys go to the source."""
        return lambda: Dimension(weight=maps if is_map() else own, preferred=1)

    def is_map() -> bool:
        return screen.state.tab in MAPS and screen.focused != "source"

    source = HSplit([screen.windows["source"]], height=share(11, 6))
    return HSplit([source, tabs, HSplit([chosen], height=share(9, 14))])


def side_by_side(screen: Screen) -> Container:
    """For wide terminals that are not high: the source left, one other pane right."""
    tabs = line_of(screen, drawing.draw_tabs, screen.show_tab)
    left = headed(screen, "source", width=Dimension(weight=1, preferred=1))
    right = HSplit([tabs, screen.chosen_tab()], width=Dimension(weight=1, preferred=1))
    return VSplit([left, bar(screen), right])


def everything(screen: Screen) -> Container:
    """For large terminals: all panes at once."""
    half = Dimension(weight=1, preferred=1)
    left = HSplit(
        [
            headed(screen, "source", height=Dimension(weight=6, preferred=1)),
            headed(screen, "calls", height=Dimension.exact(6)),
            headed(screen, "output", height=Dimension(weight=3, preferred=1)),
        ],
        width=half,
    )
    maps = VSplit(
        [
            headed(screen, "grid", width=Dimension(weight=2, preferred=1)),
            bar(screen),
            headed(screen, "memory", width=Dimension(weight=3, preferred=1)),
        ],
        height=Dimension(weight=12, preferred=1),
    )
    lists = VSplit(
        [
            headed(screen, "findings", width=Dimension(weight=3, preferred=1)),
            bar(screen),
            headed(screen, "points", width=Dimension(weight=2, preferred=1)),
        ],
        height=Dimension(weight=8, preferred=1),
    )
    right = HSplit(
        [
            headed(screen, "locals", height=Dimension(weight=14, preferred=1)),
            headed(screen, "block", height=Dimension(weight=22, preferred=1)),
            maps,
            lists,
        ],
        width=half,
    )
    return VSplit([left, bar(screen), right])


def help_overlay(screen: Screen) -> Float:
    """All keys, over everything."""

    def draw(state: Any, w: int, h: int) -> Shown:
        head: Line = [("class:pane.chosen", " keys "), ("class:quiet", " any key goes back ")]
        page = status.help_page(screen.help_sections(), w, max(h - 1, 1))
        return Shown([head, *page.lines])

    control = Pane(
        lambda w, h: draw(screen.state, w, h), screen.version, lambda target: screen.close_help(),
        keys=keys.help_keys(screen),
    )  # fmt: skip
    window = Window(control, style="class:overlay", always_hide_cursor=True)
    screen.windows["help"] = window
    shown = ConditionalContainer(window, Condition(lambda: screen.state.help))
    return Float(shown, left=0, right=0, top=1, bottom=2, transparent=False)


def whole(screen: Screen, body: Container, buffer: Buffer) -> FloatContainer:
    """Title, panes, history, command line, keys; and what floats above them."""
    command = command_line(screen, buffer)
    screen.windows["command"] = command
    lines = HSplit(
        [
            line_of(screen, drawing.draw_title),
            body,
            line_of(screen, drawing.draw_history),
            command,
            status_bar(screen),
        ]
    )
    menu = Float(CompletionsMenu(max_height=8, scroll_offset=1), xcursor=True, ycursor=True)
    return FloatContainer(lines, [menu, help_overlay(screen)])


def size() -> tuple[int, int]:
    """Columns and rows of the terminal."""
    found = get_app().output.get_size()
    return found.columns, found.rows


__all__ = ["everything", "headed", "pane", "side_by_side", "size", "tabbed", "whole"]

"""`Pane`: a control of prompt_toolkit that shows a view in just the room that it has.

A view decides itself what of its subject is in sight, so a pane never scrolls. What a click means is
what the view says of that place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prompt_toolkit.key_binding.key_bindings import KeyBindingsBase
from prompt_toolkit.layout.controls import UIContent, UIControl
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType

from blockstep.debugger.views.text import Shown

Draw = Callable[[int, int], Shown]
Clicked = Callable[[Any], None]
Scrolled = Callable[[int], None]


class Pane(UIControl):
    """`draw` makes the view for a width and a height; it is asked again when `version` changes."""

    def __init__(
        self, draw: Draw, version: Callable[[], int], clicked: Clicked | None = None,
        scrolled: Scrolled | None = None, focuses: bool = True,
        keys: KeyBindingsBase | None = None,
    ) -> None:  # fmt: skip
        self._draw, self._version = draw, version
        self._clicked, self._scrolled = clicked, scrolled
        self._focuses, self._keys = focuses, keys
        self._shown = Shown([])
        self._drawn: tuple[int, int, int] | None = None

    def is_focusable(self) -> bool:
        return self._focuses

    def get_key_bindings(self) -> KeyBindingsBase | None:
        return self._keys

    def create_content(self, width: int, height: int) -> UIContent:
        wanted = (width, height, self._version())
        if wanted != self._drawn:
            self._shown, self._drawn = self._draw(width, height), wanted
        lines: Any = self._shown.lines
        return UIContent(lambda i: lines[i], len(lines), show_cursor=False)

    def mouse_handler(self, mouse_event: MouseEvent) -> Any:
        kind, place = mouse_event.event_type, mouse_event.position
        if kind is MouseEventType.SCROLL_UP and self._scrolled is not None:
            self._scrolled(-3)
        elif kind is MouseEventType.SCROLL_DOWN and self._scrolled is not None:
            self._scrolled(3)
        elif kind is MouseEventType.MOUSE_UP and self._clicked is not None:
            self._clicked(self._shown.at(place.y, place.x))
        else:
            return NotImplemented
        return None


__all__ = ["Clicked", "Draw", "Pane", "Scrolled"]

"""Elements of HTML and SVG. Only an `Html` goes into a page as it is: any other text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"br", "hr", "meta", "link", "input", "rect", "path", "use"})
# What HTML does not allow to be written down, escaped or not.
_NEVER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(content: object) -> Html:
    """A text that stands for itself."""
    return Html(escape(_NEVER.sub("\N{REPLACEMENT CHARACTER}", str(content)), quote=True))


def join(children: Iterable[object], between: str = "") -> Html:
    """Children one after the other; None is nothing."""
    return Html(text(between).join(_child(c) for c in children if c is not None))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element. `class_` is the class, `data_x` is data-x; an attribute that is None is absent, one
    that is True has no value."""
    shown = "".join(
        f" {_name(k)}" if v is True else f' {_name(k)}="{text(v)}"'
        for k, v in attributes.items()
        if v is not None and v is not False
    )
    if name in _VOID:
        return (
            Html(f"<{name}{shown}>") if name in ("br", "hr", "meta") else Html(f"<{name}{shown}/>")
        )
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def _child(child: object) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, str) or not isinstance(child, Iterable):
        return text(child)
    return join(child)


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-") if attribute != "viewBox" else attribute


__all__ = ["Html", "join", "tag", "text"]

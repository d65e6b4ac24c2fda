"""Colours and signs, by what a terminal can show.

Invariant: everything that a colour tells a sign tells too; without colour nothing is lost but
fineness. The ramps are our own: one from dark to bright for values of one sign, one from blue through
grey to red for values of both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

Colour = tuple[int, int, int]


class Depth(Enum):
    """How many colours there are."""

    FULL = "24 bit"
    SIXTEEN = "16 colours"
    NONE = "no colour"


_BRIGHT: tuple[Colour, ...] = ((28, 16, 68), (79, 28, 112), (160, 44, 96), (224, 96, 58), (252, 200, 80))  # fmt: skip
_BOTH: tuple[Colour, ...] = ((36, 92, 190), (92, 142, 206), (96, 98, 104), (206, 120, 92), (190, 44, 44))  # fmt: skip
_BRIGHT16 = ("ansiblue", "ansimagenta", "ansired", "ansiyellow", "ansiwhite")
_BOTH16 = ("ansiblue", "ansicyan", "ansibrightblack", "ansiyellow", "ansired")
_DARK16 = frozenset(("ansiblue", "ansimagenta", "ansired", "ansibrightblack"))
_WRITERS: tuple[Colour, ...] = (
    (66, 133, 244), (219, 68, 55), (244, 180, 0), (15, 157, 88), (171, 71, 188), (0, 172, 193),
    (255, 112, 67), (158, 157, 36), (92, 107, 192), (240, 98, 146), (0, 121, 107), (141, 110, 99),
)  # fmt: skip
_WRITERS16 = ("ansiblue", "ansired", "ansiyellow", "ansigreen", "ansimagenta", "ansicyan")
_SHADES = " ░▒▓█"
_ASCII_SHADES = " .:=+*#%@"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class Signs:
    """One character for each thing that a view marks."""

    here: str
    breakpoint: str
    disabled: str
    conditional: str
    finding: str
    masked: str
    undefined: str
    nan: str
    infinity: str
    done: str
    instance: str
    partner: str
    waiting: str
    fresh: str
    bar: str
    dash: str
    more: str


_UNICODE = Signs("▶", "●", "○", "◆", "!", "·", "?", "N", "∞", "■", "@", "R", "w", "·", "│", "─", "…")  # fmt: skip
_ASCII = Signs(">", "B", "b", "C", "!", "/", "?", "N", "I", "#", "@", "R", "w", ".", "|", "-", "~")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Palette:
    """What is used. `ascii`: characters past ASCII cannot be shown."""

    depth: Depth = Depth.NONE
    ascii: bool = False

    @property
    def signs(self) -> Signs:
        """The characters."""
        return _ASCII if self.ascii else _UNICODE

    @property
    def shades(self) -> str:
        """Characters from nothing to full, for a picture without colours."""
        return _ASCII_SHADES if self.ascii else _SHADES

    def heat(self, fraction: float, both: bool = False) -> tuple[str, str]:
        """Style and two characters of a number: `fraction` of the way along the scale, 0 to 1.
        `both`: the middle of the scale is zero. Without colour the characters are a shade of the
        distance from zero, with a minus before what lies below it."""
        fraction = min(max(fraction, 0.0), 1.0)
        if self.depth is Depth.NONE:
            if not both:  # the least number is no empty cell
                return "", 2 * _step(self.shades[1:], fraction)
            shade = _step(self.shades, abs(2 * fraction - 1))
            return "", ("-" if fraction < 0.5 else shade) + shade
        if self.depth is Depth.SIXTEEN:
            names = _BOTH16 if both else _BRIGHT16
            name = names[min(int(fraction * len(names)), len(names) - 1)]
            return f"bg:{name} {'fg:ansiwhite' if name in _DARK16 else 'fg:ansiblack'}", "  "
        colour = _between(_BOTH if both else _BRIGHT, fraction)
        return f"bg:{_hex(colour)} fg:{_ink(colour)}", "  "

    def writer(self, number: int) -> tuple[str, str]:
        """Style and letter of a program instance, by its linear id; they repeat, letters after 62."""
        letter = _LETTERS[number % len(_LETTERS)]
        if self.depth is Depth.NONE:
            return "", letter
        if self.depth is Depth.SIXTEEN:
            name = _WRITERS16[number % len(_WRITERS16)]
            return f"bg:{name} {'fg:ansiwhite' if name in _DARK16 else 'fg:ansiblack'}", letter
        colour = _WRITERS[number % len(_WRITERS)]
        return f"bg:{_hex(colour)} fg:{_ink(colour)}", letter


def _step(shades: str, fraction: float) -> str:
    return shades[min(int(fraction * len(shades)), len(shades) - 1)]


def _between(ramp: tuple[Colour, ...], fraction: float) -> Colour:
    at = fraction * (len(ramp) - 1)
    low = min(int(at), len(ramp) - 2)
    part = at - low
    first, second = ramp[low], ramp[low + 1]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _ink(colour: Colour) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = colour
    return "#101010" if 0.299 * red + 0.587 * green + 0.114 * blue > 130 else "#ffffff"


def from_environment(
    environment: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> Palette:
    """What a terminal can show: NO_COLOR, TERM and COLORTERM as others read them."""
    told = os.environ if environment is None else environment
    term = told.get("TERM", "")
    ascii_only = "utf" not in encoding.lower().replace("-", "") or term in ("dumb", "vt100")
    if told.get("NO_COLOR") or term in ("dumb", "vt100", "vt220"):
        return Palette(Depth.NONE, ascii_only)
    full = told.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "256color" in term
    return Palette(Depth.FULL if full or term.endswith("direct") else Depth.SIXTEEN, ascii_only)


__all__ = ["Depth", "Palette", "Signs", "from_environment"]

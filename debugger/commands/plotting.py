"""A block as a small picture of characters: a curve for one axis, shades for two.

NaN is `N`, an infinity `I`, an undefined element `?`: they are never averaged away. Plain text without colours; the
full screen has the coloured one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

WIDTH, HEIGHT = 64, 8
BARS = " ▁▂▃▄▅▆▇█"
SHADES = " ░▒▓█"
PLAIN_SHADES = " .:=#"


def plot_text(values: Any, undefined: Any = None, *, plain: bool = False) -> str:
    """The picture of an array; of one with more than two axes, its first two-dimensional part.
    `plain`: ASCII only."""
    values = np.asarray(values)
    numbers = values.astype(np.float64)
    lost = np.zeros(numbers.shape, bool) if undefined is None else np.asarray(undefined)
    said = ""
    if numbers.ndim > 2:
        numbers, lost, said = _first_plane(numbers, lost)
    if numbers.ndim == 0:
        numbers, lost = numbers.reshape(1), lost.reshape(1)
    low, high = _limits(numbers[~lost])
    if numbers.ndim == 1:
        lines = _curve(numbers, lost, low, high, plain)
    else:
        lines = _shades(numbers, lost, low, high, plain)
    return "\n".join([*([said] if said else []), *lines])


def _first_plane(numbers: Any, lost: Any) -> tuple[Any, Any, str]:
    at = (0,) * (numbers.ndim - 2)
    said = f"[{', '.join([*map(str, at), ':', ':'])}] of the shape {list(numbers.shape)}"
    return numbers[at], lost[at], said


def _limits(known: Any) -> tuple[float, float]:
    finite = known[np.isfinite(known)]
    if finite.size == 0:
        return 0.0, 0.0
    return float(finite.min()), float(finite.max())


def _bins(length: int, most: int) -> list[tuple[int, int]]:
    """At most so many stretches of equal length, give or take one."""
    count = min(length, most)
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


def _odd(part: Any, lost: Any) -> str:
    """The sign for a stretch in which something is no finite number."""
    known = part[~lost]
    if np.isnan(known).any():
        return "N"
    if np.isinf(known).any():
        return "I"
    return "?" if lost.any() else ""


def _curve(numbers: Any, lost: Any, low: float, high: float, plain: bool) -> list[str]:
    """Bars from the bottom, as high as the largest of each stretch."""
    columns = []
    for start, stop in _bins(numbers.size, WIDTH):
        part, holes = numbers[start:stop], lost[start:stop]
        columns.append(_odd(part, holes) or _fraction(float(part.max()), low, high))
    rows = [_row(columns, level, plain) for level in range(HEIGHT - 1, -1, -1)]
    labels = [f"{high:.6g}", *[""] * (HEIGHT - 2), f"{low:.6g}"]
    width = max(map(len, labels))
    lines = [f"{label:>{width}} |{row}" for label, row in zip(labels, rows, strict=True)]
    last = str(numbers.size - 1)
    gap = max(len(columns) - 1 - len(last), 1)
    return [*lines, f"{'':>{width}} 0{' ' * gap}{last if numbers.size > 1 else ''}".rstrip()]


def _fraction(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 1.0


def _row(columns: Sequence[str | float], level: int, plain: bool) -> str:
    return "".join(_cell(c, level, plain) for c in columns).rstrip()


def _cell(column: str | float, level: int, plain: bool) -> str:
    if isinstance(column, str):
        return column if level == 0 else " "
    eighths = 1 + round(column * (HEIGHT * 8 - 1))  # the least value is one eighth high
    here = min(max(eighths - 8 * level, 0), 8)
    return ("#" if here >= 4 or (level == 0 and here) else " ") if plain else BARS[here]


def _shades(numbers: Any, lost: Any, low: float, high: float, plain: bool) -> list[str]:
    """A cell for each element, or for a rectangle of them its mean."""
    scale = PLAIN_SHADES if plain else SHADES
    down, across = _bins(numbers.shape[0], 2 * HEIGHT), _bins(numbers.shape[1], WIDTH)
    lines = []
    width = len(str(numbers.shape[0] - 1))
    for top, bottom in down:
        cells = []
        for left, right in across:
            part, holes = numbers[top:bottom, left:right], lost[top:bottom, left:right]
            cells.append(_odd(part, holes) or _shade(float(part.mean()), low, high, scale))
        lines.append(f"{top:>{width}} |{''.join(cells)}|")
    return [*lines, _legend(low, high, scale, numbers.shape)]


def _shade(value: float, low: float, high: float, scale: str) -> str:
    step = math.floor(_fraction(value, low, high) * len(scale))
    return scale[min(step, len(scale) - 1)]


def _legend(low: float, high: float, scale: str, shape: Sequence[int]) -> str:
    rows, columns = shape
    return f"{rows} rows, {columns} columns; {low:.6g} '{scale}' {high:.6g}"


__all__ = ["plot_text"]

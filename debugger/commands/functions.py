"""The functions of a launch: its kernel, the jit functions that it calls, their lines of code."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from blockstep.language.frames import is_ours
from blockstep.language.function import JITFunction


def functions_of(kernel: JITFunction) -> dict[str, JITFunction]:
    """The kernel and every function of the user's that it can call, by name, callers first."""
    found: dict[str, JITFunction] = {}
    left = [kernel]
    while left:
        function = left.pop(0)
        if function.__name__ in found or is_ours(function.fn.__code__.co_filename):
            continue
        found[function.__name__] = function
        names = function.prepared.names
        outer = [names.outer(path[0]) for path in names.used]
        left += [value for value in outer if isinstance(value, JITFunction)]
    return found


def lines_of(function: JITFunction) -> set[int]:
    """The lines on which a session can stand."""
    first = function.prepared.source.line
    return {n for n in _lines(function.body.__code__) if n > first}


def _lines(code: CodeType) -> Iterator[int]:
    for _, _, line in code.co_lines():
        if line:
            yield line


__all__ = ["functions_of", "lines_of"]

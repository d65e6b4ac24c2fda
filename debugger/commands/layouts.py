"""`info layout`: how the compiler spreads the blocks of a line over registers, lanes and warps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockstep.compiler.layouts import draw
from blockstep.debugger.commands.reply import Refused
from blockstep.errors import TritonError
from blockstep.ir import Layout, names_of
from blockstep.runtime.dumping import Stages
from blockstep.runtime.ladder.launch import Launch


def layouts_at(launch: Launch, file: str, line: int) -> str:
    """The layouts of what a line makes, each drawn once with the names of its values in the IR.
    Raises Refused for a kernel that is not compiled, and a line that makes no block."""
    found: dict[Layout, list[str]] = {}
    values = list(_at_line(_placed(launch), file, line))
    named = [(name, layout) for name, layout in values if not name[1:2].isdigit()]
    for name, layout in named or values:
        found.setdefault(layout, []).append(name)
    if not found:
        raise Refused(f"nothing of line {line} is left as a block when it is compiled")
    return "\n\n".join(f"{', '.join(names)}\n{draw(one)}" for one, names in found.items())


def _placed(launch: Launch) -> Any:
    try:
        return Stages(launch.made, launch.options, launch.hints, None).ir
    except TritonError as error:
        text: Any = getattr(error, "error_message", None) or str(error)
        raise Refused(f"it is not compiled: {str(text).strip().splitlines()[0]}") from error


def _at_line(ir: Any, file: str, line: int) -> Iterator[tuple[str, Layout]]:
    names = names_of(ir)
    for operation in ir.walk():
        location = operation.location
        if location is None or (location.span.file, location.span.line) != (file, line):
            continue
        for value in operation.results:
            if isinstance(value.layout, Layout):
                yield f"{names[value]} of {operation.name}", value.layout


__all__ = ["layouts_at"]

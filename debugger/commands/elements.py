"""`out[3, i + 1]`: an element of an argument as a person writes it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from blockstep.debugger.commands.reply import Refused

Evaluate = Callable[[ast.expr], Any]


class Array(Protocol):
    """What is asked of an argument: `blockstep.interp.memory.View` has it."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Sequence[int]: ...


def parse_element(
    text: str, arrays: Sequence[Array], evaluate: Evaluate
) -> tuple[str, tuple[int, ...]]:
    """The name of an argument and an index into it; `evaluate` gives the value of what stands
    between the brackets. An array of one element needs no index, negative ones count from the end.
    Raises Refused for anything else."""
    node = _parsed(text)
    parts: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        inner = node.slice
        parts[:0] = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        node = node.value
    name = ast.unparse(node)
    by_name = {a.name: a for a in arrays}
    if name not in by_name:
        known = ", ".join(by_name) or "none"
        raise Refused(f"no argument is an array called `{name}`; there are {known}")
    array = by_name[name]
    if not parts and all(n == 1 for n in array.shape):
        return name, (0,) * len(array.shape)
    if len(parts) != len(array.shape):
        raise Refused(_wanted(array, len(parts)))
    index = [_number(part, evaluate) for part in parts]
    return name, _inside(array, index)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise Refused(f"an element is written ARG[i, j], not {text.strip() or 'nothing'}") from None


def _wanted(array: Array, given: int) -> str:
    shape = f"[{', '.join(map(str, array.shape))}]"
    example = f"{array.name}[{', '.join('0' for _ in array.shape)}]"
    count = "1 index does not" if given == 1 else f"{given} indices do not"
    if not given:
        return f"which element of `{array.name}`{shape}? for example {example}"
    return f"`{array.name}` has the shape {shape}: {count} name an element, {example} does"


def _number(node: ast.expr, evaluate: Evaluate) -> int:
    if isinstance(node, ast.Slice):
        raise Refused("one element at a time: no slices")
    value: Any = evaluate(node)
    value = getattr(value, "handle", value)  # a scalar of the kernel
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Refused(f"the index {ast.unparse(node)} is not an integer")
    return int(value)


def _inside(array: Array, index: Sequence[int]) -> tuple[int, ...]:
    found = []
    for axis, (i, n) in enumerate(zip(index, array.shape, strict=True)):
        if not -n <= i < n:
            where = f" along axis {axis}" if len(array.shape) > 1 else ""
            raise Refused(f"`{array.name}` has {n} elements{where}: there is no {i}")
        found.append(i % n)
    return tuple(found)


def element_text(name: str, index: Sequence[int]) -> str:
    """out[3, 4]."""
    return f"{name}[{', '.join(map(str, index))}]"


__all__ = ["element_text", "parse_element"]

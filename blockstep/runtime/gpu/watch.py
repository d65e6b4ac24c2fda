"""What a compiled kernel was made from besides its arguments: the outer names that it reads.

A constant of a module that changes, or a function that is defined anew, must be seen by the next
launch. `watch` lists the dictionaries in which the kernel, and all that it calls, look up names, so
that `holds` only has to look at each once more; `condition` writes the same as one expression.

Invariant: while `holds` is true, compiling again would read the same objects. What the language's
own modules hold is left out: that is the same for the whole process.
"""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator, Mapping
from types import CellType, ModuleType
from typing import Any

from blockstep.errors import CompilationError
from blockstep.language.constant import unwrap
from blockstep.language.function import JITFunction
from blockstep.language.names import ABSENT, Names

Seen = tuple[tuple[Mapping[str, Any], str, Any], ...]
Cells = tuple[tuple[CellType, Any], ...]
OURS = "blockstep.language"


class Watch:
    """The outer names of a kernel as they were."""

    __slots__ = ("_cells", "_functions", "_seen")

    def __init__(self, function: JITFunction, constants: Mapping[str, Any]) -> None:
        functions = _reached(function, constants)
        self._functions = [(f, f.prepared) for f in functions]
        names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        cells: dict[int, tuple[CellType, Any]] = {}
        for prepared in (p for _, p in self._functions):
            for where, name in _places(prepared.names):
                names[id(where), name] = where, name, where.get(name, ABSENT)
            for cell in prepared.names.cells.values():
                cells[id(cell)] = cell, _content(cell)
        self._seen: Seen = tuple(names.values())
        self._cells: Cells = tuple(cells.values())

    def holds(self) -> bool:
        """Whether every name still stands for the object it stood for."""
        for where, name, value in self._seen:
            if where.get(name, ABSENT) is not value:
                return False
        for function, prepared in self._functions:
            if function._prepared is not prepared:
                return False
        for cell, value in self._cells:
            if _content(cell) is not value:
                return False
        return True

    def condition(
        self, globals: Mapping[str, Any], taken: Collection[str], space: dict[str, Any]
    ) -> str:
        """`holds` as an expression, for a function whose globals are `globals` and whose own names
        are `taken`; what else it names is added to `space`. Python looks globals up faster than
        anything else can. A name that is gone makes it false, or raises NameError or KeyError."""
        for i, (where, _, value) in enumerate(self._seen):
            space[f"seen{i}"], space[f"place{i}"] = value, where
        for i, (function, prepared) in enumerate(self._functions):
            space[f"function{i}"], space[f"text{i}"] = function, prepared
        for i, (cell, value) in enumerate(self._cells):
            space[f"cell{i}"], space[f"held{i}"], space["content"] = cell, value, _content
        taken = {*taken, *space}
        tests = [_test(i, *told, globals, taken) for i, told in enumerate(self._seen)]
        tests += [f"function{i}._prepared is text{i}" for i in range(len(self._functions))]
        tests += [f"content(cell{i}) is held{i}" for i in range(len(self._cells))]
        return " and ".join(tests) or "True"


def _test(
    i: int, where: Mapping[str, Any], name: str, value: Any, globals: Any, taken: Collection[str]
) -> str:
    """Whether one name still stands for its object, as an expression."""
    if value is ABSENT:  # as a global it would be looked up among Python's builtins
        return f"{name!r} not in place{i}"
    plain = name.isidentifier() and not keyword.iskeyword(name) and name not in taken
    if where is globals and plain:
        return f"{name} is seen{i}"
    return f"place{i}[{name!r}] is seen{i}"


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned after the kernel was defined
        return ABSENT


def _reached(function: JITFunction, constants: Mapping[str, Any]) -> list[JITFunction]:
    """The kernel and every jit function that it can call, whether or not it does."""
    found: dict[int, JITFunction] = {}
    waiting = [function, *(c for c in map(unwrap, constants.values()) if _is_jit(c))]
    while waiting:
        here = waiting.pop()
        if id(here) in found or (here.__module__ or "").startswith(OURS):
            continue
        try:
            names = here.prepared.names
        except (CompilationError, OSError):  # no code can have been made of it
            continue
        found[id(here)] = here
        waiting += [value for value in names.identities() if _is_jit(value)]
    return list(found.values())


def _is_jit(value: Any) -> bool:
    return isinstance(value, JITFunction)


def _places(names: Names) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every dictionary, with the name, in which a path of the function is looked up."""
    for name, *attributes in names.used:
        holder = names.outer(name)
        if name not in names.cells:
            yield names.globals, name
        for attribute in attributes:
            if isinstance(holder, ModuleType) and holder.__name__.startswith(OURS):
                break
            places = _dictionaries(holder)
            yield from ((place, attribute) for place in places)
            holder = next((p[attribute] for p in places if attribute in p), ABSENT)


def _dictionaries(holder: Any) -> list[Mapping[str, Any]]:
    if isinstance(holder, type):
        return [c.__dict__ for c in holder.__mro__]
    held = getattr(holder, "__dict__", None)
    return [held] if isinstance(held, Mapping) else []

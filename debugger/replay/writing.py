"""A launch as a replay file. What cannot be written down is refused, never left out."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

import blockstep
from blockstep import target
from blockstep.debugger.replay import file as archive
from blockstep.errors import TritonError
from blockstep.findings import Span
from blockstep.interp.memory import Storage
from blockstep.ir import Operation
from blockstep.language.function import JITFunction
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.reproducing import ALIGNMENT, Array, Block, Box, taken
from blockstep.runtime.ladder.sources import NotWritten, Sources, literal
from blockstep.runtime.launch_options import DEFAULTS


@dataclass(frozen=True, slots=True)
class Recipe:
    """A function that makes the arguments by name, to be written down in their stead."""

    make: Callable[[], Mapping[str, Any]]


def save(
    file: str, launch: Launch, *, seed: int = 0, commands: tuple[str, ...] = (),
    recipe: Recipe | None = None,
) -> int:  # fmt: skip
    """Writes a launch, with memory as it is now, which has to be as it was before the launch; the
    size of the file in bytes. `commands` are given to the debugger when the file is opened.

    Raises NotWritten for what has no text: memory that is reached through addresses, arguments of
    kinds that are only known here, a recipe that does not make what the launch was given."""
    if launch.memory.reached or _follows_addresses(launch):
        raise NotWritten("the kernel reaches memory through addresses, which no file can hold")
    sources = Sources(launch.function)
    blocks: dict[int, tuple[int, Block]] = {}
    arguments = {a.name: taken(a, blocks, sources) for a in launch.bound.arguments}
    storages = {s.base: s for s in launch.bound.space.storages}
    kept = [storages[base] for base in blocks]
    files = _lines(sources, launch.host)
    head = {
        "blockstep": blockstep.__version__,
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "seed": seed,
        "target": target.current().name,
        "options": _options(launch, arguments),
        "before": [*sources.imports, *sources.constants],
        "functions": [_function(f) for f in _ordered(sources)],
        "arguments": {name: _told(value) for name, value in arguments.items()},
        "memory": [_memory(s) for s in kept],
        "host": _place(_dedented(launch.host)),
        "commands": list(commands),
    }
    parts = {f"source/{name}": text.encode() for name, text in files.items()}
    if recipe is not None:
        head["recipe"] = _recipe(recipe, launch)
    else:
        parts |= {f"memory/{n}": s.data.tobytes() for n, s in enumerate(kept)}
    for n, storage in enumerate(kept):
        if storage.written is not None:
            parts[f"written/{n}"] = np.packbits(storage.written).tobytes()
    return archive.write(file, head, parts)


def _follows_addresses(launch: Launch) -> bool:
    """Whether the kernel makes pointers of numbers. One that has no IR may, if it has run, be known
    by the memory that it reached."""
    try:
        made = launch.made
    except TritonError:
        return False
    operations = [o for f in (made, *made.callees) for o in f.walk()]
    return any(o.name == "int_to_pointer" or _loads_pointers(o) for o in operations)


def _loads_pointers(operation: Operation) -> bool:
    return operation.name == "load" and any(r.type.scalar.is_ptr() for r in operation.results)


def _ordered(sources: Sources) -> list[JITFunction]:
    """Callees first."""
    return [sources.named[name] for name in sources.functions]


def _options(launch: Launch, arguments: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: literal(value) for name, value in launch.kwargs.items()
        if name in DEFAULTS and name not in arguments
    }  # fmt: skip


def _function(function: JITFunction) -> dict[str, Any]:
    source = function.prepared.source
    if source.edited:
        raise NotWritten(f"the text of {function.__name__} is not that of its file")
    return {
        "name": function.__name__,
        "file": _short(source.file),
        "line": source.line,
        "debug": function.debug,
        "noinline": bool(function.noinline),
        "do_not_specialize": list(function.do_not_specialize or ()),
        "do_not_specialize_on_alignment": list(function.do_not_specialize_on_alignment or ()),
    }


def _lines(sources: Sources, host: Span | None) -> dict[str, str]:
    """By file: the lines of the functions and of the launch, the others empty."""
    found: dict[str, dict[int, str]] = {}
    whose: dict[str, str] = {}
    for function in _ordered(sources):
        source = function.prepared.source
        first = min([source.line, *[d.lineno for d in source.tree.decorator_list]])
        last = source.tree.end_lineno or source.line
        _take(found, whose, source.file, range(first, last + 1))
    if host is not None:
        _take(found, whose, host.file, range(host.line, max(host.line, host.end_line) + 1), True)
    return {name: _text(lines) for name, lines in found.items()}


def _take(
    found: dict[str, dict[int, str]], whose: dict[str, str], file: str, numbers: range,
    dedented: bool = False,
) -> None:  # fmt: skip
    """`dedented`: a line of another function must not look like one of the function above it."""
    name = _short(file)
    if whose.setdefault(name, file) != file:
        raise NotWritten(f"two files are called {name}")
    lines = found.setdefault(name, {})
    text = "".join(linecache.getline(file, n) for n in numbers)
    text = textwrap.dedent(text) if dedented else text
    lines |= dict(zip(numbers, text.splitlines(), strict=False))


def _text(lines: dict[int, str]) -> str:
    return "".join(
        lines.get(n, "").rstrip("\n") + "\n" for n in range(1, max(lines, default=0) + 1)
    )


def _short(file: str) -> str:
    """The name of a file without its folders, which are the business of one machine."""
    return file.replace("\\", "/").rpartition("/")[2]


def _dedented(span: Span | None) -> Span | None:
    if span is None:
        return None
    text = linecache.getline(span.file, span.line)
    less = len(text) - len(text.lstrip())
    columns = max(span.column - less, 0), max(span.end_column - less, 0)
    return replace(span, column=columns[0], end_column=columns[1])


def _place(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "file": _short(span.file), "line": span.line, "column": span.column,
        "end_line": span.end_line, "end_column": span.end_column, "function": span.function,
    }  # fmt: skip


def _memory(storage: Storage) -> dict[str, Any]:
    made = storage.made_by
    told: dict[str, Any] = {
        "bytes": storage.nbytes, "shift": storage.base % ALIGNMENT, "readonly": storage.readonly,
    }  # fmt: skip
    if made is not None:
        told |= {"made_by": made.made_by, "made_at": _place(made.made_at)}
    return told


def _told(value: Any) -> Any:
    """An argument as JSON."""
    if isinstance(value, Array):
        return {
            "array": value.block, "dtype": value.dtype, "shape": list(value.shape),
            "strides": list(value.strides), "offset": value.offset,
        }  # fmt: skip
    if isinstance(value, Box):
        return {"descriptor": _told(value.array), "told": [literal(part) for part in value.told]}
    if type(value) is tuple:
        return {"tuple": [_told(item) for item in value]}
    return {"value": literal(value)}


def _recipe(recipe: Recipe, launch: Launch) -> dict[str, str]:
    """The text of a function that makes the arguments, which is tried out first."""
    name = recipe.make.__name__
    given = recipe.make()
    for argument in launch.bound.arguments:
        if argument.kind == "pointer" and not _same(given.get(argument.name), argument.value):
            raise NotWritten(f"{name}() does not make the `{argument.name}` of this launch")
    return {"name": name, "text": _plain_text(recipe.make)}


def _same(one: Any, two: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
        return False
    alike = (one.shape, one.strides, one.dtype) == (two.shape, two.strides, two.dtype)
    return alike and one.tobytes() == two.tobytes()


def _plain_text(function: Callable[..., Any], known: frozenset[str] = frozenset()) -> str:
    """A Python function and the modules, numbers and functions that it reads, as text."""
    code: Any = function.__code__
    if code.co_freevars:
        raise NotWritten(
            f"{function.__name__}() reads {code.co_freevars[0]} of the function around"
        )
    before: list[str] = []
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            before.append(f"import {value.__name__} as {name}")
        elif inspect.isfunction(value) and name not in known:
            before.append(_plain_text(value, known | {function.__name__, name}))
        elif value is not None and not inspect.isfunction(value):
            before.append(f"{name} = {literal(value)}")
    return "\n".join([*before, textwrap.dedent(inspect.getsource(function))])


__all__ = ["Recipe", "save"]

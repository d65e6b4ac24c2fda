"""A replay file as a launch of this process: the same bytes at the same alignment, the same lines."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np

import blockstep
from blockstep.debugger.replay import file as archive
from blockstep.debugger.replay.file import NoReplay
from blockstep.findings import Span
from blockstep.interp.registry import registry
from blockstep.interp.unwritten import PATTERN
from blockstep.language.function import JITFunction
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.reproducing import ALIGNMENT
from blockstep.tools.tensor_descriptor import TensorDescriptor

_TYPES = {"np": np, "ml_dtypes": ml_dtypes}


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What a file holds: a kernel, its arguments by name, and what to tell the debugger."""

    kernel: JITFunction
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]
    grid: tuple[int, int, int]
    seed: int
    target: str
    host: Span | None
    commands: tuple[str, ...]

    def launch(self) -> Launch:
        """The launch, ready to run."""
        given = {**self.arguments, **self.options}
        return take(self.kernel, (), given, self.grid, self.host)


def read(file: str) -> Replay:
    """Opens a replay file, and runs the definitions in it. Raises NoReplay, OSError."""
    head, parts = archive.load(file)
    folder = os.path.abspath(file)
    try:
        return _replay(head, parts, folder)
    except (KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise NoReplay(f"{file} is damaged: {type(error).__name__}: {error}") from error


def _replay(head: dict[str, Any], parts: dict[str, bytes], folder: str) -> Replay:
    _show_sources(parts, folder)
    names: dict[str, Any] = {"__name__": "__replay__"}
    functions = {told["name"] for told in head["functions"]}
    other_names = [line for line in head["before"] if line.partition(" = ")[2] in functions]
    exec("\n".join(line for line in head["before"] if line not in other_names), names)
    for told in head["functions"]:
        names[told["name"]] = _function(told, folder, names)
    exec("\n".join(other_names), names)
    stretches = _memory(head, parts, folder)
    arguments = {name: _value(v, stretches, names) for name, v in head["arguments"].items()}
    x, y, z = head["grid"]
    return Replay(
        names[head["kernel"]],
        arguments,
        {name: eval(text, names) for name, text in head["options"].items()},
        (x, y, z),
        int(head["seed"]),
        head["target"],
        _span(head["host"], folder),
        tuple(head["commands"]),
    )


def _show_sources(parts: dict[str, bytes], folder: str) -> None:
    """Lets tracebacks, findings and the kernel itself see the lines."""
    for name, data in parts.items():
        kind, _, short = name.partition("/")
        if kind == "source":
            text = data.decode()
            file = os.path.join(folder, short)
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)


def _function(told: dict[str, Any], folder: str, names: dict[str, Any]) -> JITFunction:
    """One jit function, compiled at its own lines; annotations stay text."""
    file = os.path.join(folder, told["file"])
    node = _definition(linecache.getlines(file), told)
    module = ast.Module([node], [])
    flags = annotations.compiler_flag
    scope = dict(names)
    exec(compile(module, file, "exec", flags, dont_inherit=True), scope)
    made = scope[told["name"]]
    function = FunctionType(made.__code__, names, made.__name__, made.__defaults__)
    function.__annotations__, function.__kwdefaults__ = made.__annotations__, made.__kwdefaults__
    function.__module__ = "__replay__"
    return JITFunction(
        function,
        debug=told["debug"],
        noinline=told["noinline"] or None,
        do_not_specialize=told["do_not_specialize"] or None,
        do_not_specialize_on_alignment=told["do_not_specialize_on_alignment"] or None,
    )


def _definition(lines: list[str], told: dict[str, Any]) -> ast.FunctionDef:
    """The `def` at its line, without decorators."""
    first = told["line"]
    indented = lines[first - 1][:1].isspace()
    above = ["\n"] * (first - 2) + ["if 1:\n"] if indented else ["\n"] * (first - 1)
    own = inspect.getblock(lines[first - 1 :])
    for node in ast.walk(ast.parse("".join([*above, *own]))):
        if isinstance(node, ast.FunctionDef) and node.name == told["name"]:
            node.decorator_list = []
            return node
    raise KeyError(told["name"])


def _memory(head: dict[str, Any], parts: dict[str, bytes], folder: str) -> list[Any]:
    """Each stretch of memory as bytes."""
    if "recipe" in head:
        return _made(head, parts, folder)
    return [
        _stretch(told, parts[f"memory/{n}"], parts.get(f"written/{n}"), folder)
        for n, told in enumerate(head["memory"])
    ]


def _made(head: dict[str, Any], parts: dict[str, bytes], folder: str) -> list[Any]:
    """Memory as the recipe makes it."""
    names: dict[str, Any] = {"__name__": "__replay__"}
    exec(compile(head["recipe"]["text"], "<recipe>", "exec"), names)
    given = names[head["recipe"]["name"]]()
    found: list[Any] = [None] * len(head["memory"])
    for name, value in head["arguments"].items():
        if "array" in value and found[value["array"]] is None:
            n, whole = value["array"], given[name]
            while isinstance(whole.base, np.ndarray):
                whole = whole.base
            data = whole.reshape(-1).view(np.uint8).tobytes()
            found[n] = _stretch(head["memory"][n], data, parts.get(f"written/{n}"), folder)
    return found


def _stretch(told: dict[str, Any], data: bytes, written: bytes | None, folder: str) -> Any:
    """Memory of these bytes that begins `shift` bytes past a multiple of 16."""
    size, shift = told["bytes"], told["shift"]
    if len(data) != size:
        raise KeyError(f"{size} bytes of memory")
    part = np.empty(size, np.uint8)
    if part.ctypes.data % ALIGNMENT != shift:
        whole = np.empty(size + 2 * ALIGNMENT, np.uint8)
        start = (shift - whole.ctypes.data) % ALIGNMENT
        part = whole[start : start + size]
    part[:] = np.frombuffer(data, np.uint8)
    if written is not None:
        _forget(part, np.unpackbits(np.frombuffer(written, np.uint8), count=size).astype(bool))
    record = registry.register(part)
    if record is not None and told.get("made_by"):
        record.made_by, record.made_at = told["made_by"], _span(told["made_at"], folder)
    if told["readonly"]:
        part.flags.writeable = False
    return part


def _forget(part: Any, written: Any) -> None:
    """Nobody wrote the bytes that are not `written`."""
    record = registry.register(part)
    if record is None:
        return
    flags = np.ones(record.nbytes, bool)
    start = part.ctypes.data - record.base
    flags[start : start + part.size] = written
    pattern = np.frombuffer(PATTERN * (record.nbytes // len(PATTERN) + 1), np.uint8)
    part[~written] = pattern[start : start + part.size][~written]
    record.written = flags


def _value(told: dict[str, Any], stretches: list[Any], names: dict[str, Any]) -> Any:
    if "array" in told:
        kind = eval(told["dtype"], dict(_TYPES))
        shape, strides = tuple(told["shape"]), tuple(told["strides"])
        return np.ndarray(shape, kind, stretches[told["array"]], told["offset"], strides)
    if "descriptor" in told:
        array = _value(told["descriptor"], stretches, names)
        return TensorDescriptor(array, *[eval(part, names) for part in told["told"]])
    if "tuple" in told:
        return tuple(_value(item, stretches, names) for item in told["tuple"])
    return eval(told["value"], {**names, "tl": blockstep.language})


def _span(told: dict[str, Any] | None, folder: str) -> Span | None:
    if told is None:
        return None
    return Span(
        os.path.join(folder, told["file"]), told["line"], told["column"], told["end_line"],
        told["end_column"], told["function"],
    )  # fmt: skip


__all__ = ["Replay", "read"]

"""The source of a kernel and of all that it reads by name, as text that stands alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from blockstep import language
from blockstep.language.constant import constexpr
from blockstep.language.function import JITFunction
from blockstep.language.types import dtype

ALWAYS = ("import blockstep", "import blockstep.language as tl")


class NotWritten(Exception):
    """What cannot be written down, so that there is no script."""


class Sources:
    """Text of functions, callees first, and the lines that stand before them."""

    def __init__(self, kernel: JITFunction) -> None:
        self.imports: dict[str, None] = dict.fromkeys(ALWAYS)
        self.constants: dict[str, None] = {}
        self.functions: dict[str, str] = {}
        self.named: dict[str, JITFunction] = {}
        self.function(kernel, kernel.__name__)

    def function(self, function: JITFunction, name: str) -> None:
        """Takes in a function, under the name by which it is read. Raises NotWritten."""
        own = function.__name__
        if self.named.setdefault(own, function) is not function:
            raise NotWritten(f"two functions are called {own}")
        if own not in self.functions:
            self.functions[own] = ""  # it may call itself
            for first in _read_by(function):
                self._outer(first, function.prepared.names.outer(first))
            text = self.functions.pop(own) or _text(function)
            self.functions[own] = text
        if name != own:
            self._constant(name, own)

    def _outer(self, name: str, value: Any) -> None:
        if (attribute := _of_language(value)) is not None:
            self.imports[f"from blockstep.language import {attribute} as {name}"] = None
        elif isinstance(value, JITFunction):
            self.function(value, name)
        elif isinstance(value, ModuleType):
            self._module(name, value)
        elif isinstance(value, constexpr):
            self._constant(name, f"tl.constexpr({literal(value.value)})")
        elif value is not None and not _is_absent(value):
            self._constant(name, literal(value))

    def _constant(self, name: str, text: str) -> None:
        if any(
            line.startswith(f"{name} = ") for line in self.constants.keys() - {f"{name} = {text}"}
        ):
            raise NotWritten(f"two functions mean different things by `{name}`")
        self.constants[f"{name} = {text}"] = None

    def _module(self, name: str, value: ModuleType) -> None:
        own, dot, rest = value.__name__.partition(".")
        own = "blockstep" if own == "triton" else own  # which it is, in a redirected process
        self.imports[f"import {own}{dot}{rest} as {name}"] = None


def _read_by(function: JITFunction) -> list[str]:
    """The outer names that a function reads, but for those of its decorators."""
    names, tree = function.prepared.names, function.prepared.source.tree
    parts = [tree.args, *tree.body, *([tree.returns] if tree.returns else [])]
    read = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
    return list(dict.fromkeys(path[0] for path in names.used if path[0] in read))


def _is_absent(value: Any) -> bool:
    return type(value).__name__ == "Absent" or getattr(value, "__module__", "") == "builtins"


def _of_language(value: Any) -> str | None:
    """The name under which `tl` has an object that is no number."""
    if isinstance(value, (bool, int, float, str, tuple, list, constexpr)):
        return None
    return next((n for n, v in vars(language).items() if v is value), None)


def literal(value: Any) -> str:
    """A compile-time value or number as source text. Raises NotWritten."""
    if isinstance(value, constexpr):
        return f"tl.constexpr({literal(value.value)})"
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f'float("{value}")'
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if type(value) in (tuple, list):
        inner = "".join(f"{literal(item)}, " for item in value).rstrip()
        return f"({inner})" if type(value) is tuple else f"[{inner}]"
    if isinstance(value, dtype) and _of_language(value) is not None:
        return f"tl.{_of_language(value)}"
    if isinstance(value, JITFunction):
        return value.__name__
    raise NotWritten(f"a {type(value).__name__} has no source text")


def _text(function: JITFunction) -> str:
    """The function with its decorator; its docstring left out."""
    told = []
    if function.noinline:
        told.append("noinline=True")
    for name in ("do_not_specialize", "do_not_specialize_on_alignment"):
        given = getattr(function, name)
        if given:
            told.append(f"{name}={list(given)!r}")
    head = f"@blockstep.jit({', '.join(told)})" if told else "@blockstep.jit"
    return f"{head}\n{_plain(function.src)}\n"


def _plain(source: str) -> str:
    """The source as `ast` writes it, without decorators and docstring."""
    tree = ast.parse(source)
    for node in _functions(tree):
        node.decorator_list = []
        first = node.body[0]
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_text and len(node.body) > 1:
            del node.body[0]
    return ast.unparse(tree)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


__all__ = ["NotWritten", "Sources", "literal"]

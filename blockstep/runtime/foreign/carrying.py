"""From a jit function to what another process needs to compile it: its source, and what it reads.

Nothing is imported there from the user's files: a function goes as its own text with the names that
it reads (global or of an enclosing function), functions that it calls go the same way, and of a
module or another object only the attributes that the text reads. So a script does not run a second
time, and kernels of notebooks and of `exec` go like any others.

Invariant: the result is JSON, and two processes that carry the same kernel make the same text. A
name that cannot be carried is left out and listed in `left`, with the reason; it may never be used.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from blockstep.language import types as ty
from blockstep.language.constant import constexpr
from blockstep.language.function import ConstexprFunction, JITFunction
from blockstep.language.source import Source, source_of
from blockstep.runtime import redirect
from blockstep.runtime.compat import package
from blockstep.runtime.foreign.failures import NotCarried

_PLAIN = (bool, int, str, type(None))
_SEARCHED = (
    "triton", "triton.language", "triton.language.extra.libdevice", "triton.language.extra.cuda",
    "triton.language.core", "triton.language.standard", "triton.language.math",
    "triton.language.random",
)  # fmt: skip


@dataclass(slots=True)
class Carrier:
    """Collects the functions of one request."""

    functions: dict[str, dict[str, Any]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    _keys: dict[int, str] = field(default_factory=dict)

    def function(self, given: Any) -> str:
        """The key of a function (jit, constexpr or plain), which is carried with all it reads."""
        inner = given.fn if isinstance(given, JITFunction | ConstexprFunction) else given
        if not isinstance(inner, FunctionType):
            raise NotCarried(f"{inner!r} is no Python function")
        fn: FunctionType = inner
        if id(fn) in self._keys:
            return self._keys[id(fn)]
        key = self._keys[id(fn)] = f"f{len(self._keys)}"
        told = self.functions[key] = _told(given, fn)
        tree = ast.parse(_unindented(told["text"]))
        told["names"] = dict(self._names(fn, tree))
        return key

    def _names(self, fn: FunctionType, tree: ast.AST) -> Iterator[tuple[str, Any]]:
        outer = _outer(fn)
        for name, chains in sorted(_read(tree).items()):
            if name not in outer:
                continue
            try:
                yield name, self.value(outer[name], chains)
            except NotCarried as error:
                self.left[name] = str(error)

    def value(self, value: Any, chains: frozenset[tuple[str, ...]] = frozenset()) -> list[Any]:
        """A value as JSON, tagged with what it is. `chains` are the attributes that are read of it.

        Raises NotCarried."""
        if isinstance(value, float):
            return ["float", value.hex()]
        if type(value) in _PLAIN:
            return ["plain", value]
        if isinstance(value, int):
            return ["plain", int(value)]
        if isinstance(value, constexpr):
            return ["constexpr", self.value(value.value)]
        if isinstance(value, ModuleType):
            return self._module(value, chains)
        if (named := _ours(value)) is not None:
            return ["named", named]
        if (below := _jit(value)) is not None:
            return ["function", self.function(below)]
        if isinstance(value, FunctionType):
            return ["function", self.function(value)]
        return self._container(value, chains)

    def _container(self, value: Any, chains: frozenset[tuple[str, ...]]) -> list[Any]:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            told = [type(value).__name__, list(value._fields)]
            return ["record", told, [self.value(item) for item in value]]
        if isinstance(value, tuple | list):
            return [type(value).__name__, [self.value(item) for item in value]]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return ["dict", [[key, self.value(item)] for key, item in value.items()]]
        if any(chains):
            return self._space(value, chains)
        raise NotCarried(f"a value of {type(value).__module__}.{type(value).__qualname__}")

    def _module(self, module: ModuleType, chains: frozenset[tuple[str, ...]]) -> list[Any]:
        name = module.__name__
        alias = _ALIASED.get(name)
        if alias is None and name.startswith("blockstep.language."):
            alias = "triton" + name[len("blockstep") :]
        if alias is not None:
            return ["module", alias]
        if name.partition(".")[0] in sys.stdlib_module_names:
            return ["module", name]
        return self._space(module, chains)

    def _space(self, value: Any, chains: frozenset[tuple[str, ...]]) -> list[Any]:
        """The attributes that are read of an object."""
        found = {}
        for first in sorted({chain[0] for chain in chains if chain}):
            rest = frozenset(chain[1:] for chain in chains if chain[:1] == (first,))
            if hasattr(value, first):
                try:
                    found[first] = self.value(getattr(value, first), rest)
                except NotCarried as error:
                    self.left[first] = str(error)
        return ["space", found]


def _told(given: Any, fn: FunctionType) -> dict[str, Any]:
    if isinstance(given, JITFunction):
        source, kind, options = given.prepared.source, "jit", _options(given)
    else:
        source, options = _source(fn), {}
        kind = "constexpr" if isinstance(given, ConstexprFunction) else "plain"
    edited = source.edited
    lines = source.text if edited else "".join(source.parsed.splitlines(True)[source.line - 1 :])
    return {
        "kind": kind, "options": options, "text": lines, "flags": fn.__code__.co_flags,
        "file": f"<edited {fn.__qualname__}>" if edited else source.file,
        "line": 1 if edited else source.line,
        "module": fn.__module__ or "__main__", "qualname": fn.__qualname__,
    }  # fmt: skip


def _source(fn: FunctionType) -> Source:
    try:
        return source_of(fn)
    except OSError as error:
        raise NotCarried(str(error)) from error


def _options(function: JITFunction) -> dict[str, Any]:
    """The keywords of `@jit` that change what is compiled."""
    found: dict[str, Any] = {}
    if function.noinline is not None:
        found["noinline"] = function.noinline
    for name in ("do_not_specialize", "do_not_specialize_on_alignment"):
        if getattr(function, name):
            found[name] = list(getattr(function, name))
    return found


def _outer(fn: FunctionType) -> dict[str, Any]:
    """What the names of a function may stand for outside it."""
    found = dict(fn.__globals__)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            found.pop(name, None)
    return found


def _read(tree: ast.AST) -> dict[str, frozenset[tuple[str, ...]]]:
    """Every name in the text, with the chains of attributes read of it; `()` for the name alone."""
    found: dict[str, set[tuple[str, ...]]] = {}
    inner: set[int] = set()
    for node in ast.walk(tree):  # outer attributes come before inner ones
        if id(node) in inner:
            continue
        chain: list[str] = []
        below: ast.AST = node
        while isinstance(below, ast.Attribute):
            chain.insert(0, below.attr)
            below = below.value
            inner.add(id(below))
        if isinstance(below, ast.Name):
            found.setdefault(below.id, set()).add(tuple(chain))
    return {name: frozenset(chains) for name, chains in found.items()}


def _unindented(text: str) -> str:
    return f"if 1:\n{text}" if text[:1].isspace() else text


def _jit(value: Any) -> JITFunction | ConstexprFunction | None:
    """The function behind a jit function, or behind what tunes or wraps one."""
    while not isinstance(value, JITFunction | ConstexprFunction):
        value = getattr(value, "fn", None)
        if value is None:
            return None
    return value


_ALIASED = {ours: theirs for theirs, ours in reversed(redirect.ALIASES.items())}
_ALIASED["blockstep.runtime.compat.package"] = _ALIASED["blockstep"] = "triton"
_OWN: dict[int, tuple[Any, list[str]]] = {}


def _ours(value: Any) -> list[str] | None:
    """Module and name of something that blockstep's `triton` has."""
    if not _OWN:
        for theirs in _SEARCHED:
            for name, one in vars(_known_as(theirs)).items():
                if (callable(one) or isinstance(one, ty.dtype)) and not name.startswith("__"):
                    _OWN.setdefault(id(one), (one, [theirs, name]))
    found = _OWN.get(id(value))
    return found[1] if found is not None and found[0] is value else None


def _known_as(theirs: str) -> ModuleType:
    module = package if theirs == "triton" else redirect.resolve(theirs)
    assert module is not None, theirs
    return module

"""Compiles a rewritten tree back into the function it came from.

Invariant: the new code differs from the original's in its instructions and constants only: same
file, name, first line, flags, locals, captured cells and globals. The tree is compiled inside the
scopes it was written in (a function that captures the same names, the class of a method), so
names mean what they meant; the scopes themselves are never run.
"""

from __future__ import annotations
import __future__ as future

import ast
import threading
import warnings
from collections.abc import Callable, Mapping
from inspect import CO_NESTED
from types import CodeType, FunctionType
from typing import Any

MARK = "\0blockstep:"  # begins the strings that stand for functions until the code is made
_FLAGS = sum(getattr(future, name).compiler_flag for name in future.all_feature_names)
_warnings_lock = threading.Lock()


def rebuilt(fn: FunctionType, code: CodeType) -> FunctionType:
    """`fn` with other code; its globals, defaults and cells stay its own."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    made.__kwdefaults__ = fn.__kwdefaults__
    made.__annotations__ = fn.__annotations__
    made.__qualname__ = fn.__qualname__
    made.__module__ = fn.__module__
    made.__doc__ = fn.__doc__
    return made


def compiled(
    fn: FunctionType, tree: ast.FunctionDef, constants: Mapping[str, Callable[..., Any]]
) -> CodeType:
    """The code of `tree`, with `constants` in place of the strings that name them."""
    original = fn.__code__
    scopes = fn.__qualname__.split(".")[:-1]
    held: ast.FunctionDef | ast.ClassDef = tree
    inside = "captured.<locals>."
    if scopes and scopes[-1] != "<locals>":  # a method: private names are mangled with its class
        held = ast.copy_location(ast.ClassDef(scopes[-1], [], [], [held], []), tree)
        inside += f"{scopes[-1]}."
    captured = [ast.arg(name) for name in original.co_freevars if name != "__class__"]
    given = ast.arguments(
        [], [ast.copy_location(a, tree) for a in captured], None, [], [], None, []
    )
    body: list[ast.stmt] = [held]
    if held.name not in original.co_freevars:  # not a local of `captured`: calls itself by global
        body.insert(0, ast.copy_location(ast.Global([held.name]), tree))
        inside = inside.removeprefix("captured.<locals>.")
    outer = ast.copy_location(ast.FunctionDef("captured", given, body, [], None), tree)
    module = ast.Module([outer], [])
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python has warned about the text; constants are called
        flags = original.co_flags & _FLAGS
        whole = compile(module, original.co_filename, "exec", flags, dont_inherit=True)
    (scope,) = [c for c in whole.co_consts if isinstance(c, CodeType)]
    found = _named(scope, inside + original.co_name)
    return _with_constants(found, constants, found.co_qualname, original)


def _named(code: CodeType, qualname: str) -> CodeType:
    """The kernel's code, inside the scopes that were put around it."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == qualname:
                return constant
            if qualname.startswith(constant.co_qualname + "."):
                return _named(constant, qualname)
    raise AssertionError(f"no code for {qualname}")


def _with_constants(
    code: CodeType, table: Mapping[str, Callable[..., Any]], prefix: str, like: CodeType
) -> CodeType:
    """`code` with the functions in place of the strings that stand for them."""

    def replaced(constant: Any) -> Any:
        if isinstance(constant, CodeType):
            return _with_constants(constant, table, prefix, like)
        if isinstance(constant, str) and constant.startswith(MARK):
            return table[constant]
        return constant

    return code.replace(
        co_flags=code.co_flags & ~CO_NESTED | like.co_flags & CO_NESTED,
        co_consts=tuple(replaced(c) for c in code.co_consts),
        co_qualname=like.co_qualname + code.co_qualname.removeprefix(prefix),
    )

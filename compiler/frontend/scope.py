"""The variables of a function while it is compiled, and what a region assigns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class Missing:
    """A variable that is bound on one path only; `later` makes its value, where it has one."""

    def __init__(self, why: str, later: Callable[[], Any] | None = None) -> None:
        self.why = why
        self.later = later


def assigned(nodes: list[ast.stmt]) -> list[str]:
    """Names that statements bind, in order of first appearance."""
    found: dict[str, None] = {}
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.setdefault(inner.id)
    return list(found)


def is_changeable(value: Any) -> bool:
    """Whether a method may change the value in place: it is an aggregate."""
    return bool(getattr(value, "__triton_aggregate__", False)) and not isinstance(value, type)


def is_unchanged(copied: Any, value: Any) -> bool:
    """Whether the copy of an aggregate still holds the very same fields."""
    if type(copied) is not type(value):
        return False
    one, other = vars(copied), vars(value)
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def mentioned(nodes: list[ast.stmt]) -> set[str]:
    """Names that statements read or bind."""
    return {inner.id for n in nodes for inner in ast.walk(n) if isinstance(inner, ast.Name)}


def returns(nodes: list[ast.stmt]) -> bool:
    """Whether statements contain a return."""
    return any(isinstance(inner, ast.Return) for node in nodes for inner in ast.walk(node))


Variables = dict[str, Any]

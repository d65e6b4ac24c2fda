"""Kernels that are a little smaller, as text: without a statement, with a part of an expression in
its place, without a parameter that nothing reads."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

_WORTH = (ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp)


def smaller(source: str) -> Iterator[str]:
    """Edited sources, the boldest first."""
    tree = ast.parse(source)
    for edited in _statements(tree):
        yield text(edited)
    for edited in _expressions(tree):
        found = text(edited)
        if len(found) < len(source):
            yield found


def text(tree: ast.AST) -> str:
    """The source of a tree."""
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def unread(source: str) -> list[str]:
    """Parameters that nothing reads."""
    (function,) = (n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    inside = [n for statement in function.body for n in ast.walk(statement)]
    used = {n.id for n in inside if isinstance(n, ast.Name)}
    return [p.arg for p in function.args.args if p.arg not in used]


def without_parameter(source: str, name: str) -> str:
    """The source with one parameter less."""
    tree = ast.parse(source)
    (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef))
    given = function.args
    at = next(i for i, p in enumerate(given.args) if p.arg == name)
    first = len(given.args) - len(given.defaults)
    if at >= first:
        del given.defaults[at - first]
    del given.args[at]
    return text(tree)


def _bodies(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.Module):
                for at in range(len(body)):
                    yield body, at


def _statements(tree: ast.Module) -> Iterator[ast.Module]:
    for number in reversed(range(len(list(_bodies(tree))))):
        for unwrap in (False, True):
            edited = copy.deepcopy(tree)
            body, at = list(_bodies(edited))[number]
            inner = getattr(body[at], "body", None)
            if unwrap and isinstance(inner, list):
                body[at : at + 1] = inner
            elif not unwrap and len(body) > 1:
                del body[at]
            else:
                continue
            yield edited


class _Swap(ast.NodeTransformer):
    """Puts a part of the expression with a number in its place."""

    def __init__(self, number: int, choose: int) -> None:
        self.number, self.choose, self.seen = number, choose, -1

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _WORTH):
            self.seen += 1
            if self.seen == self.number:
                parts = _parts(node)
                return parts[self.choose] if self.choose < len(parts) else node
        return self.generic_visit(node)


def _parts(node: ast.AST) -> list[ast.expr]:
    parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    if isinstance(node, ast.Call):
        parts = list(node.args)
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
    return [p for p in parts if not (isinstance(p, ast.Name) and p.id == "tl")]


def _expressions(tree: ast.Module) -> Iterator[ast.Module]:
    count = sum(isinstance(n, _WORTH) for n in ast.walk(tree))
    for number in range(count):
        for choose in range(3):
            edited = copy.deepcopy(tree)
            _Swap(number, choose).visit(edited)
            yield edited


__all__ = ["smaller", "text", "unread", "without_parameter"]

"""Makes a failing case smaller while it still fails in the same way.

Works on the source text alone: statements are left out, compound ones give way to their bodies,
expressions to their parts, the grid gets smaller; what remains of the arguments goes last.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from tests.fuzz.case import Case

Fails = Callable[[Case], bool]
_WORTH = (ast.BinOp, ast.Call, ast.Compare, ast.UnaryOp, ast.Subscript)


def shrink(case: Case, fails: Fails, seconds: float = 40.0) -> Case:
    """The smallest case found in the time there is."""
    end = time.process_time() + seconds
    smaller = True
    while smaller:
        smaller, at = False, 0
        while True:  # after a success go on at the same place, not from the start
            candidate = next(islice(candidates(case), at, None), None)
            if candidate is None:
                break
            if time.process_time() >= end:
                return case
            if fails(candidate):
                case, smaller = candidate, True
            else:
                at += 1
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are a little smaller, the boldest first."""
    tree = ast.parse(case.kernel)
    for edited in _statements(tree):
        yield replace(case, kernel=_text(edited))
    yield from _arguments(case, tree)
    for edited in _expressions(tree):
        text = _text(edited)
        if len(text) < len(case.kernel):
            yield replace(case, kernel=text)
    yield from _grids(case)


def _text(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bodies(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.Module):
                for at in range(len(body)):
                    yield body, at


def _statements(tree: ast.Module) -> Iterator[ast.Module]:
    places = len(list(_bodies(tree)))
    for number in reversed(range(places)):
        for unwrap in (False, True):
            edited = copy.deepcopy(tree)
            body, at = list(_bodies(edited))[number]
            old = body[at]
            if unwrap:
                inner = getattr(old, "body", None)
                if not isinstance(inner, list):
                    continue
                body[at : at + 1] = inner
            elif len(body) > 1:
                del body[at]
            elif isinstance(old, ast.Pass):
                continue
            else:
                body[at] = ast.Pass()
            yield edited


class _Swap(ast.NodeTransformer):
    """Puts `new` in the place of the expression with a number."""

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
        parts = [a for a in node.args if isinstance(a, ast.expr)]
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


def _arguments(case: Case, tree: ast.Module) -> Iterator[Case]:
    """Without parameters that nothing reads."""
    (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef))
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    for at, parameter in enumerate(function.args.args):
        if parameter.arg in used:
            continue
        edited = copy.deepcopy(tree)
        edited.body[0].args.args.pop(at)  # type: ignore[attr-defined]
        returned = case.arguments[-1].removeprefix("return [").removesuffix("]").split(", ")
        lines = [x for x in case.arguments[:-1] if not x.startswith(f"{parameter.arg} = ")]
        last = f"return [{', '.join(returned[:at] + returned[at + 1 :])}]"
        yield replace(case, kernel=_text(edited), arguments=(*lines, last))


def _grids(case: Case) -> Iterator[Case]:
    for axis, n in enumerate(case.grid):
        if n > 1:
            grid = list(case.grid)
            grid[axis] = 1 if n == 2 else n // 2
            yield replace(case, grid=tuple(grid))
            grid[axis] = n - 1
            yield replace(case, grid=tuple(grid))
    if case.batch is not None:
        yield replace(case, batch=None)

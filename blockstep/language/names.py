"""What a name in a kernel stands for before the kernel runs: local, captured, global or built in.

Invariant: globals and captured cells are read live, so the answer is today's, as Triton's compiler
would find it at this launch.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from blockstep.language.constant import constexpr


class Absent:
    """The type of `ABSENT`: a name that stands for nothing that is known yet."""


ABSENT = Absent()


class Identities:
    """Objects that are the same only as long as each is the very object it was. They are kept, so
    that no other object can take the address of one that is gone."""

    __slots__ = ("_objects",)

    def __init__(self, objects: list[Any]) -> None:
        self._objects = objects

    def __iter__(self) -> Iterator[Any]:
        return iter(self._objects)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identities) or len(self._objects) != len(other._objects):
            return False
        return all(map(operator.is_, self._objects, other._objects))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._objects)))


class Names:
    """The names of one kernel."""

    def __init__(self, fn: FunctionType, tree: ast.FunctionDef, edited: bool) -> None:
        """`edited` says that the tree is of a text that stands in for the function's own."""
        self.globals: Mapping[str, Any] = fn.__globals__
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        self.cells = dict(cells)
        code = fn.__code__
        self.locals = _assigned(tree) if edited else frozenset(code.co_varnames + code.co_cellvars)
        paths = {path for node in ast.walk(tree) if (path := _path(node))}
        self.used = sorted(path for path in paths if path[0] not in self.locals)

    def identities(self) -> Identities:
        """What the function's outer names, and paths like `config.SIZE`, stand for now."""
        found = []
        for name, *attributes in self.used:
            value = self.outer(name)
            for attribute in attributes:
                value = _held(value, attribute)
            found.append(value)
        return Identities(found)

    def outer(self, name: str) -> Any:
        """The captured or global value of a name that is not local; ABSENT if there is none."""
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:  # assigned after the kernel was defined
                return ABSENT
        return self.globals.get(name, ABSENT)

    def is_builtin(self, name: str) -> bool:
        """Whether the name falls through to Python's own builtins."""
        return name not in self.locals and self.outer(name) is ABSENT and hasattr(builtins, name)

    def resolve(self, node: ast.expr | None) -> Any:
        """The object that a name or a dotted path through modules and classes stands for."""
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return ABSENT
            found = self.outer(node.id)
            return getattr(builtins, node.id, ABSENT) if found is ABSENT else found
        if isinstance(node, ast.Attribute):
            holder = self.resolve(node.value)
            if isinstance(holder, (ModuleType, type)):
                return getattr(holder, node.attr, ABSENT)
        return ABSENT

    def is_constexpr_type(self, annotation: ast.expr | None) -> bool:
        """Whether an annotation means `tl.constexpr`."""
        found = self.resolve(annotation)
        return found is constexpr or (isinstance(found, type) and issubclass(found, constexpr))


def _path(node: ast.AST) -> tuple[str, ...]:
    """`a.b.c` as its parts; empty for what is neither a name nor attributes of one."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        holder = _path(node.value)
        return (*holder, node.attr) if holder else ()
    return ()


def _held(holder: Any, attribute: str) -> Any:
    """What a module, a class or an object holds under a name; nothing is computed for it."""
    if isinstance(holder, type):
        places = [c.__dict__ for c in holder.__mro__ if attribute in c.__dict__]
        return places[0][attribute] if places else ABSENT
    return getattr(holder, "__dict__", {}).get(attribute, ABSENT)


def _assigned(tree: ast.FunctionDef) -> frozenset[str]:
    """Parameters and every name that the body binds (outside of comprehensions)."""
    names = _parameters(tree)
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(
            node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)
        ):
            waiting += [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
            continue
        waiting += ast.iter_child_nodes(node)
    return frozenset(names)


def carried_names(tree: ast.FunctionDef) -> dict[int, tuple[str, ...]]:
    """For every loop (by its identity), the names that its body assigns and that are certainly
    bound before it: what the language calls loop-carried. What a loop's body or one branch of an
    `if` binds first is gone after it, so it does not count."""
    found: dict[int, tuple[str, ...]] = {}
    _carry(tree.body, set(_parameters(tree)), found)
    return found


def _carry(body: list[ast.stmt], bound: set[str], found: dict[int, tuple[str, ...]]) -> set[str]:
    for node in body:
        if isinstance(node, (ast.For, ast.While)):
            targets = _stored([node.target]) if isinstance(node, ast.For) else set()
            assigned = {name for statement in node.body for name in _assigned_in(statement)}
            found[id(node)] = tuple(sorted((assigned & bound) - targets))
            _carry(node.body, bound | targets, found)
        elif isinstance(node, ast.If):
            both = [_carry(part, set(bound), found) for part in (node.body, node.orelse)]
            bound |= both[0] & both[1]
        elif isinstance(node, ast.With):
            bound = _carry(node.body, bound, found)
        else:
            bound |= _assigned_in(node)
    return bound


def _assigned_in(statement: ast.stmt) -> set[str]:
    """Names that assignments in a statement bind; not loop variables or comprehensions' names."""
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            names |= _stored(node.targets)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            names |= _stored([node.target])
    return names


def _stored(targets: list[ast.expr]) -> set[str]:
    return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _parameters(tree: ast.FunctionDef) -> set[str]:
    given = tree.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {a.arg for a in (*named, given.vararg, given.kwarg) if a is not None}

"""Which rejected places a launch certainly compiles, from its constexpr values alone.

Triton compiles both branches of a test known only at run time, the chosen branch of a test on
constexprs, and nothing after a `return`. The walk follows it with a small evaluator: a value is
known, `RUNTIME` (a tensor for sure) or `UNKNOWN`; under an unknown test nothing is certain, and
what is rejected there is raised when a program instance gets to it. Calls of other jit functions
that are certain are handed to the caller, who walks those functions in turn.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from blockstep.errors import CompilationError
from blockstep.language import loops
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.names import ABSENT, Names
from blockstep.language.rules import Problem
from blockstep.language.types import dtype


class _Sentinel:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


RUNTIME = _Sentinel("RUNTIME")
UNKNOWN = _Sentinel("UNKNOWN")

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_FOLDED = (int, float, bool, str, type(None), dtype)
_RUNTIME_CALLS = frozenset(
    {"load", "program_id", "num_programs", "arange", "atomic_add", "atomic_cas"}
)


Enter = Callable[[ast.Call, Any, list[Any], dict[str | None, Any]], None]


class _Found(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def first_certain(
    tree: ast.FunctionDef,
    names: Names,
    problems: Mapping[int, Problem],
    constants: Mapping[str, Any],
    runtime: frozenset[str] = frozenset(),
    enter: Enter | None = None,
) -> Problem | None:
    """The first rejected place that this launch cannot avoid, or None. `enter` is told of every
    certain call of a jit function: the call, the function, and what is known of its arguments."""
    for problem in problems.values():
        if problem.always:
            return problem
    known: dict[str, Any] = {name: unwrap(value) for name, value in constants.items()}
    known |= dict.fromkeys(runtime, RUNTIME)
    try:
        walk = _Walk(names, problems, known, enter)
        walk.defined |= {
            a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
        }
        for extra in (tree.args.vararg, tree.args.kwarg):
            walk.certain(extra)
        walk.body(tree.body)
    except _Found as found:
        return found.problem
    return None


class _Walk:
    def __init__(
        self,
        names: Names,
        problems: Mapping[int, Problem],
        known: dict[str, Any],
        enter: Enter | None,
    ) -> None:
        self.names = names
        self.problems = problems
        self.known = known
        self.enter = enter
        self.defined: set[str] = set()  # names that are certainly bound

    def certain(self, node: ast.AST | None) -> None:
        problem = self.problems.get(id(node))
        if problem is not None:
            raise _Found(problem)

    def body(self, statements: list[ast.stmt]) -> bool:
        """Walks statements in order; whether they certainly return."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        self.certain(node)
        match node:
            case ast.Return():
                self.value(node.value)
                return True
            case ast.If():
                return self.branches(node)
            case ast.For():
                self.loop(node)
            case ast.While():
                for part in node.orelse[:1]:
                    self.certain(part)
                self.forget(node.body)
                self.value(node.test)
                self.scoped(node.body)
            case ast.With():
                for item in node.items:
                    self.value(item.context_expr)
                return self.body(node.body)
            case _:
                self.simple(node)
        return False

    def simple(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in ast.walk(targets[0]):
                self.certain(part)
            value = self.value(node.value)
            if isinstance(node, ast.AugAssign):
                value = self.value(node.target)
            constant = isinstance(node, ast.AnnAssign) and self.names.is_constexpr_type(
                node.annotation
            )
            if constant:
                self.define(node)
            self.bind(targets[0], value if constant else _assigned(value))
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)

    def define(self, node: ast.stmt) -> None:
        """`x: tl.constexpr = ...`, which may be the only assignment to x."""
        target = getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id in self.defined:
            message = f"{target.id} is already defined. constexpr cannot be reassigned."
            raise _Found(Problem(node, message, CompilationError))

    def bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = value
            self.defined.add(target.id)
            return
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                self.known[part.id] = UNKNOWN
                self.defined.add(part.id)

    def scoped(self, body: list[ast.stmt]) -> bool:
        """A body compiled for run time: names first bound in it are gone after it."""
        before = set(self.defined)
        returns = self.body(body)
        self.defined = before
        return returns

    def branches(self, node: ast.If) -> bool:
        test = self.value(node.test)
        if test is RUNTIME:
            before = dict(self.known)
            one = self.scoped(node.body)
            self.known = before
            two = self.scoped(node.orelse)
            self.forget([node])
            return one and two
        if test is UNKNOWN:
            self.forget([node])
            return False
        return self.body(node.body if test else node.orelse)

    def loop(self, node: ast.For) -> None:
        self.certain(node.target)
        self.certain(node.iter)
        for part in node.orelse[:1]:
            self.certain(part)
        self.value(node.iter)
        self.forget(node.body)
        static = self.trips(node.iter)
        self.bind(node.target, RUNTIME if static is None else UNKNOWN)
        if static is None:
            self.scoped(node.body)
        for _ in range(min(static or 0, 2)):  # the second pass meets what the first defined
            self.body(node.body)

    def trips(self, node: ast.expr) -> int | None:
        """How often a static_range certainly repeats its body; None for other loops."""
        if not isinstance(node, ast.Call):
            return None
        kind = self.names.resolve(node.func)
        if not (isinstance(kind, type) and issubclass(kind, loops.static_range)):
            return None
        args = [self.value(arg) for arg in node.args]
        if node.keywords or not args or not all(type(arg) is int for arg in args):
            return 0
        return len(range(*args[:2], *(a for a in args[2:] if a)))

    def forget(self, nodes: list[ast.stmt]) -> None:
        """What these statements assign is not known any more."""
        for statement in nodes:
            for part in ast.walk(statement):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self.known[part.id] = UNKNOWN

    # Expressions

    def value(self, node: ast.AST | None) -> Any:
        """Walks an expression that is certainly evaluated; what is known of its value."""
        if node is None:
            return None
        self.certain(node)
        handler = getattr(self, f"value_{type(node).__name__}", None)
        if handler is not None:
            return handler(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword)):
                self.value(child)
        return UNKNOWN

    def value_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def value_Name(self, node: ast.Name) -> Any:
        if node.id in self.names.locals:
            return self.known.get(node.id, UNKNOWN)
        return _plain(self.names.resolve(node))

    def value_Attribute(self, node: ast.Attribute) -> Any:
        holder = self.value(node.value)
        if node.attr == "value" and isinstance(holder, _FOLDED):
            return holder
        return _plain(self.names.resolve(node))

    def value_Subscript(self, node: ast.Subscript) -> Any:
        holder = self.value(node.value)
        self.value(node.slice)
        return RUNTIME if holder is RUNTIME else UNKNOWN

    def value_Call(self, node: ast.Call) -> Any:
        self.value(node.func)
        given = [self.value(part) for part in node.args]
        named = {part.arg: self.value(part.value) for part in node.keywords}
        made = unwrap(self.names.resolve(node.func))
        if self.enter is not None and getattr(made, "__blockstep_jit__", False):
            starred = any(isinstance(part, ast.Starred) for part in node.args)
            self.enter(node, made, [] if starred else given, named)
            return UNKNOWN
        name = getattr(made, "__name__", "")
        ours = str(getattr(made, "__module__", "")).startswith("blockstep.")
        return RUNTIME if ours and name in _RUNTIME_CALLS else UNKNOWN

    def value_ListComp(self, node: ast.ListComp) -> Any:
        generator = node.generators[0]
        self.value(generator.iter)
        for test in generator.ifs:
            self.certain(test)
        return UNKNOWN

    def value_BinOp(self, node: ast.BinOp) -> Any:
        return self.fold(node.op, self.value(node.left), self.value(node.right))

    def value_Compare(self, node: ast.Compare) -> Any:
        left, right = self.value(node.left), self.value(node.comparators[0])
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and RUNTIME in (left, right):
            if left is None or right is None:
                return isinstance(node.ops[0], ast.IsNot)
            return UNKNOWN
        return self.fold(node.ops[0], left, right)

    def fold(self, op: ast.AST, left: Any, right: Any) -> Any:
        if left is RUNTIME or right is RUNTIME:
            return RUNTIME
        function = _BINARY.get(type(op))
        if function is None or not (isinstance(left, _FOLDED) and isinstance(right, _FOLDED)):
            return UNKNOWN
        try:
            return function(left, right)
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN

    def value_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if operand is RUNTIME or not isinstance(operand, _FOLDED):
            return operand if operand is RUNTIME else UNKNOWN
        try:
            return _UNARY[type(node.op)](operand)
        except TypeError:
            return UNKNOWN

    def value_BoolOp(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        result: Any = UNKNOWN
        for i, part in enumerate(node.values):
            value = self.value(part)
            if value is UNKNOWN:
                return UNKNOWN
            if value is RUNTIME:
                result = RUNTIME
            elif bool(value) is stops:
                return value
            elif result is not RUNTIME and i == len(node.values) - 1:
                result = value
        return result

    def value_IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if test is RUNTIME:
            self.value(node.body)
            self.value(node.orelse)
            return RUNTIME
        if test is UNKNOWN:
            return UNKNOWN
        return self.value(node.body if test else node.orelse)


def _plain(found: Any) -> Any:
    """A global's value where the walk can use it."""
    if isinstance(found, constexpr):
        found = found.value
    if found is ABSENT or isinstance(found, ModuleType):
        return UNKNOWN
    return found if isinstance(found, _FOLDED) else UNKNOWN


def _assigned(value: Any) -> Any:
    """What a name holds after a plain assignment: numbers have become tensors."""
    return RUNTIME if isinstance(value, (int, float)) else value

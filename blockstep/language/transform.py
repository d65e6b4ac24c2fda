"""A kernel as a function of CPython: the user's own lines with Triton's compiled meaning.

`prepare` parses the kernel where it stands, wraps what Python and Triton understand differently
(assignments, tests, loops, `and`/`or`, returned values) in calls of `blockstep.language.during`,
and compiles it under its own file name. Invariants: every instruction has the line and columns of
the user's expression; names, locals, closure cells, globals and defaults are the original's (cells
and globals live); the wrapping functions are constants of the code, so they add neither names nor
frames of the user's file; decorators give the code its first line and are never run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from blockstep.errors import CompilationError
from blockstep.language import during, looping
from blockstep.language.allowed import is_constexpr
from blockstep.language.frames import is_ours, remember
from blockstep.language.names import ABSENT, Identities, Names, carried_names
from blockstep.language.reach import RUNTIME, UNKNOWN, first_certain
from blockstep.language.recompile import MARK, compiled, rebuilt
from blockstep.language.rules import Problem, find
from blockstep.language.source import Source, source_of

_LOOPING = frozenset({"loop", "loop_range", "begin_while", "while_test"})
_RENAMED: Mapping[str, str] = {"min": "min_", "max": "max_", "isinstance": "isinstance_"}
T = TypeVar("T", bound=ast.AST)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A kernel ready to run: its function, its source, and what the language rejects in it."""

    original: FunctionType
    function: FunctionType
    source: Source
    names: Names
    _passed: dict[Any, list[tuple[Names, Identities]]] = field(default_factory=dict)

    def check(self, constants: Mapping[str, Any], runtime: frozenset[str] = frozenset()) -> None:
        """Raises the first language error that is certain for these constexpr values, here or in
        the jit functions called, before anything runs. `constants` are parameters with plain
        values, `runtime` those with tensors. What has passed is remembered as long as the globals
        it saw are the same."""
        try:
            key = runtime, frozenset((k, type(v), v) for k, v in constants.items())
            seen = self._passed.get(key)
        except TypeError:  # a constexpr that has no hash
            return self._check(constants, runtime, {})
        if seen is not None and all(names.identities() == then for names, then in seen):
            return
        entered: dict[Any, Names] = {}
        self._check(constants, runtime, entered)
        checked = {id(names): names for names in (self.names, *entered.values())}
        self._passed[key] = [(names, names.identities()) for names in checked.values()]

    def _check(
        self, constants: Mapping[str, Any], runtime: frozenset[str], entered: dict[Any, Names]
    ) -> None:
        tree = self.source.tree
        problems = find(tree, self.names)

        def enter(
            node: ast.Call, callee: Any, given: list[Any], named: dict[str | None, Any]
        ) -> None:
            if not is_ours(callee.fn.__code__.co_filename):
                self._enter(node, callee.prepared, given, named, entered)

        problem = first_certain(tree, self.names, problems, constants, runtime, enter)
        if problem is not None:
            raise problem.error(self.source)

    def _enter(
        self,
        node: ast.Call,
        callee: Prepared,
        given: list[Any],
        named: dict[str | None, Any],
        entered: dict[Any, Names],
    ) -> None:
        passed: dict[str | None, Any] = dict(zip(callee.parameters, given, strict=False))
        passed |= named
        key = (id(callee), repr(sorted(passed.items(), key=str)))
        if key in entered:
            return
        entered[key] = callee.names
        runtime = frozenset(str(name) for name, value in passed.items() if value is RUNTIME)
        constants = {str(k): v for k, v in passed.items() if v is not RUNTIME and v is not UNKNOWN}
        try:
            callee._check(constants, runtime, entered)
        except CompilationError as inner:
            source, span = self.source, self.source.span(node)
            raise CompilationError(source.text, source.relative(node), None, span) from inner

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters that can be passed by position."""
        return [a.arg for a in (*self.source.tree.args.posonlyargs, *self.source.tree.args.args)]


def transform(fn: FunctionType, text: str | None = None) -> FunctionType:
    """`fn` with compiled meaning; see `prepare`."""
    return prepare(fn, text).function


def prepare(fn: FunctionType, text: str | None = None) -> Prepared:
    """Makes `fn` ready to run. `text` stands in for the file's text of the function.

    Raises OSError when the source cannot be found."""
    source = source_of(fn, text)
    working = source.fresh_tree()
    names = Names(fn, working, source.edited)
    rewriter = _Rewriter(names, find(working, names), source)
    rewriter.function(working)
    code = compiled(fn, working, rewriter.constants)
    remember(code, source)
    return Prepared(fn, rebuilt(fn, code), source, names)


def _at(new: T, old: ast.AST) -> T:
    return ast.copy_location(new, old)


def _start(new: T, old: Any) -> T:
    """`new` at the first character of `old`: on its first line, and no more than a point."""
    place: Any = _at(new, old)
    place.end_lineno, place.end_col_offset = place.lineno, place.col_offset
    return new


def _rejection(problem: Problem, source: Source) -> Callable[[], NoReturn]:
    def reject() -> NoReturn:
        raise problem.error(source)

    return reject


class _Rewriter(ast.NodeTransformer):
    def __init__(self, names: Names, problems: Mapping[int, Problem], source: Source) -> None:
        self.names = names
        self.problems = problems
        self.source = source
        self.constants: dict[str, Callable[..., Any]] = {}
        self.bound: list[str] = []
        self.carries: dict[int, tuple[str, ...]] = {}

    def call(
        self,
        name: str,
        node: ast.AST,
        *args: ast.expr,
        function: Any = None,
        ends: ast.AST | None = None,
    ) -> ast.Call:
        """A call of `during.<name>` that stands where `node` stands; the call itself happens at
        `ends` when that is on a later line, so that no line is visited twice."""
        key = MARK + name
        if function is None:
            function = getattr(looping if name in _LOOPING else during, name)
        self.constants[key] = function
        place = ast.Constant(key)
        made = ast.Call(place, list(args), [])
        _at(made, node if ends is None or ends.lineno == node.lineno else ends)  # type: ignore[attr-defined]
        _start(place, node)
        return made

    def function(self, tree: ast.FunctionDef) -> None:
        self.carries = carried_names(tree)
        body = self.statements(tree.body)
        for extra in (tree.args.vararg, tree.args.kwarg):
            if id(extra) in self.problems:
                place = _at(ast.Pass(), tree.body[0])
                body.insert(0, self.rejected_statement(self.problems[id(extra)], place))
        tree.body = body
        if tree.decorator_list:  # only its line counts: it is the first line of the code
            tree.decorator_list = [_at(ast.Constant(None), tree.decorator_list[0])]

    def visit(self, node: ast.AST) -> Any:
        problem = self.problems.get(id(node))
        if problem is None:
            return super().visit(node)
        if problem.name is not None:
            return self.unsettled(node, problem.name)
        return self.rejected(problem, node)

    def rejected(self, problem: Problem, node: ast.AST) -> ast.AST:
        """An error raised when the program gets here."""
        name = f"reject {len(self.constants)}"
        made = self.call(name, node, function=_rejection(problem, self.source))
        return _at(ast.Expr(made), node) if isinstance(node, ast.stmt) else made

    def rejected_statement(self, problem: Problem, place: ast.stmt) -> ast.stmt:
        made = self.rejected(problem, place)
        assert isinstance(made, ast.stmt)
        return made

    def unsettled(self, node: Any, name: str) -> ast.expr:
        """A global that is not allowed now, or not there: asked again when the program runs."""
        if self.names.outer(name) is ABSENT:
            return node  # type: ignore[no-any-return]
        return self.call("checked_global", node, node, _at(ast.Constant(name), node))

    # Statements

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_With(self, node: ast.With) -> ast.stmt:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        node.body = self.statements(node.body)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        rejected = self.rejected_target(target, node)
        if rejected is not None:
            return rejected
        value = self.visit_value(node.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            count = _at(ast.Constant(len(target.elts)), node.value)
            node.value = self.call("unpack", node.value, value, count)
        else:
            node.value = self.assigned(value)
        return node

    def rejected_target(self, target: ast.expr, node: ast.stmt) -> ast.stmt | None:
        for part in ast.walk(target):
            if id(part) in self.problems:
                return self.rejected_statement(self.problems[id(part)], _at(ast.Pass(), node))
        return None

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        rejected = self.rejected_target(node.target, node)
        if rejected is not None or not isinstance(node.target, ast.Name):
            return rejected or node
        old = _at(ast.Name(node.target.id, ast.Load()), node.target)
        new = _at(ast.BinOp(old, node.op, self.visit(node.value)), node)
        return _at(ast.Assign([node.target], self.assigned(new)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        rejected = self.rejected_target(node.target, node)
        if rejected is not None or node.value is None:
            return rejected or node
        if self.names.is_constexpr_type(node.annotation):
            node.value = self.call("constant", node.value, self.visit(node.value))
        else:
            node.value = self.assigned(self.visit_value(node.value))
        return node

    def assigned(self, value: ast.expr) -> ast.expr:
        return self.call("assign", value, value)

    def visit_value(self, node: ast.expr) -> Any:
        """A value about to be assigned: a run-time choice in it becomes a tensor anyway."""
        if isinstance(node, ast.IfExp) and id(node) not in self.problems:
            node.test = self.call("choice_test", node.test, self.visit(node.test))
            node.body, node.orelse = self.visit_value(node.body), self.visit_value(node.orelse)
            return node
        return self.visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.assigned(self.visit_value(node.value))
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is not None:
            node.value = self.call("result", node.value, self.visit_value(node.value))
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        for problem in (id(node.target), id(node.iter), *(id(s) for s in node.orelse[:1])):
            if problem in self.problems:
                place = _at(ast.Pass(), node)
                place.end_lineno, place.end_col_offset = (
                    node.iter.end_lineno,
                    node.iter.end_col_offset,
                )
                return self.rejected_statement(self.problems[problem], place)
        assert isinstance(node.iter, ast.Call)
        over, carried = self.visit(node.iter), self.carried(node, node.iter)
        if isinstance(node.iter.func, ast.Name) and self.is_builtin(node.iter.func, "range"):
            node.iter = self.call("loop_range", over, carried, *over.args)
            node.iter.keywords = over.keywords
        else:
            node.iter = self.call("loop", over, carried, over)
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    def carried(self, node: ast.For | ast.While, place: ast.expr) -> ast.expr:
        """The names that are carried around a loop, as a constant."""
        names: Any = self.carries[id(node)]
        return _start(ast.Constant(names), place)

    def visit_While(self, node: ast.While) -> Any:
        if node.orelse and id(node.orelse[0]) in self.problems:
            return self.rejected(self.problems[id(node.orelse[0])], _at(ast.Pass(), node))
        begin = self.call("begin_while", node.test, self.carried(node, node.test))
        _start(begin, node)
        node.test = self.tested("while_test", node.test)
        node.body = self.statements(node.body)
        return [_start(ast.Expr(begin), node), node]

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self.tested("if_test", node.test)
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        parts = [self.visit(part) for part in (node.test, node.msg) if part is not None]
        return _at(ast.Expr(self.call("assert_", node, *parts)), node)

    # Expressions

    def tested(self, function: str, test: ast.expr) -> ast.expr:
        start = _at(ast.Pass(), test)
        value = self.visit(test)
        return self.call(function, start, value, ends=value)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        place = _at(ast.Pass(), node)
        node.test = self.tested("begin_choice", node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return self.call("end_choice", place, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        kind = "and" if isinstance(node.op, ast.And) else "or"
        values = [self.visit(value) for value in node.values]
        last, start = values[-1], _at(ast.Pass(), node)
        for i, value in enumerate(values[:-1]):
            values[i] = self.call(f"{'next' if i else 'begin'}_{kind}", value, value)
        node.values = values
        return self.call(f"end_{kind}", start, node, ends=last)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return self.call("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_List(self, node: ast.List) -> ast.expr:
        return _at(ast.Tuple([self.visit(e) for e in node.elts], ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        generator = node.generators[0]
        if generator.ifs and id(generator.ifs[0]) in self.problems:
            return self.rejected(self.problems[id(generator.ifs[0])], node)  # type: ignore[return-value]
        over = self.visit(generator.iter)
        generator.iter = self.call("tuple_items", over, over)
        bound = [n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)]
        self.bound += bound
        node.elt = self.visit(node.elt)
        del self.bound[len(self.bound) - len(bound) :]
        return self.call("tuple_of", node, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        constexpr = is_constexpr(self.names.resolve(node))
        node.value = self.visit(node.value)
        if node.attr in ("value", "type") and isinstance(node.ctx, ast.Load):
            return self.call(f"{node.attr}_of", node, node.value)
        return self.call("constant", node, node) if constexpr else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id in self.bound:
            return node
        if node.id in _RENAMED and self.is_builtin(node, node.id):
            key = self.call(_RENAMED[node.id], node).func
            return _at(key, node)
        constexpr = is_constexpr(self.names.resolve(node))
        return self.call("constant", node, node) if constexpr else node

    def is_builtin(self, node: ast.Name, name: str) -> bool:
        return node.id == name and node.id not in self.bound and self.names.is_builtin(name)

"""Statements: assignments, control flow, and calls of other jit functions.

Control flow on compile-time values is decided here; on run-time values it becomes an operation with
regions, and the variables that it changes become the operation's results. An early return moves
what follows it into the other branch.
"""

from __future__ import annotations

import ast
from typing import Any

from blockstep.compiler.frontend.expressions import Expressions
from blockstep.compiler.frontend.flatten import flatten, is_runtime, kinds
from blockstep.compiler.frontend.scope import Missing, assigned, returns
from blockstep.errors import UnsupportedLanguageConstruct
from blockstep.ir import CONDITION, FOR, WHILE, YIELD, Operation, Region
from blockstep.language import during, loops
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.promotion import constant, integer_type, literal_type
from blockstep.language.value import tensor



class Returned:
    """How a list of statements ends: it always returns `value`, or it falls through (None)."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Statements(Expressions):
    """Visits statement nodes; `run` is the entry."""

    def run(self, nodes: list[ast.stmt]) -> Returned | None:
        """Compiles statements in order; how they return, if they do."""
        for position, node in enumerate(nodes):
            if isinstance(node, ast.If):
                outcome = self._if(node, nodes[position + 1 :])
                if outcome is not None:
                    return outcome
                continue
            if isinstance(node, ast.Return):
                with self.at(node):
                    value = None if node.value is None else during.result(self.evaluate(node.value))
                return Returned(value)
            self.statement(node)
        return None

    def statement(self, node: ast.stmt) -> None:
        """Compiles one statement other than `if` and `return`."""
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            raise self.error(node, f"unsupported statement: {type(node).__name__}",
                             UnsupportedLanguageConstruct)  # fmt: skip
        with self.at(node):
            method(node)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _do_Assert(self, node: ast.Assert) -> None:
        message = "" if node.msg is None else self.evaluate(node.msg)
        during.assert_(self.evaluate(node.test), message)

    def _do_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        self.bind(target, during.assign(self.evaluate(node.value)))

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return
        value = self.evaluate(node.value)
        static = self.names.is_constexpr_type(node.annotation)
        self.bind(node.target, unwrap(value) if static else during.assign(value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(_loaded(node.target), node.target)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self.bind(node.target, during.assign(self.evaluate(value)))

    def _do_With(self, node: ast.With) -> None:
        for item in node.items:
            self.evaluate(item.context_expr)
        self._inner(node.body)

    def bind(self, target: ast.expr, value: Any) -> None:
        """Assigns to a name or, element by element, to a tuple of names."""
        if isinstance(target, ast.Name):
            if isinstance(value, tensor) and not value.handle.name:
                value.handle.name = target.id
            self.variables[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = during.unpack(value, len(target.elts))
            for part, item in zip(target.elts, items, strict=True):
                self.bind(part, item)
        else:
            raise self.error(target, "only names can be assigned to", UnsupportedLanguageConstruct)

    def _inner(self, nodes: list[ast.stmt]) -> None:
        """Statements from which nothing returns."""
        outcome = self.run(nodes)
        if outcome is not None:
            raise self.error(nodes[0], "return is not allowed here", UnsupportedLanguageConstruct)

    # if

    def _if(self, node: ast.If, rest: list[ast.stmt]) -> Returned | None:
        with self.at(node.test):
            test = self.evaluate(node.test)
            if type(test) is not tensor:
                test = during.if_test(test)
        if test is True or test is False:
            return self.run(node.body if test else node.orelse)
        if test.type.shape and test.numel != 1:
            raise self.error(node.test, "Boolean value of Tensor with more than one value is "
                             "ambiguous", UnsupportedLanguageConstruct)  # fmt: skip
        with self.at(node):
            if returns(node.body) or returns(node.orelse):
                return self._returning_if(node, test, rest)
            self._plain_if(node, test)
        return None

    def _branches(self, branches: list[list[ast.stmt]]) -> list[tuple[Region, Any, Any]]:
        """Each branch compiled from the same variables: region, variables after it, outcome."""
        before = dict(self.variables)
        done = []
        for nodes in branches:
            self.variables = dict(before)
            region = Region()
            with self.recorder.into(region):
                outcome = self.run(nodes)
            done.append((region, self.variables, outcome))
        self.variables = before
        return done

    def _plain_if(self, node: ast.If, test: tensor) -> None:
        (then, a, _), (other, b, _) = self._branches([node.body, node.orelse])
        names, left, right = [], [], []
        for name in assigned(node.body + node.orelse):
            x, y = a.get(name, _unbound(name)), b.get(name, _unbound(name))
            if isinstance(x, Missing) or isinstance(y, Missing):
                self.variables[name] = Missing("it is only assigned on one path of an `if`")
                continue
            if x is self.variables.get(name) and y is x:
                continue
            self._agree(node, name, x, y)
            names.append(name)
            left.append(x)
            right.append(y)
        merged = self.merged(test, [then, other], [tuple(left), tuple(right)])
        for name, value in zip(names, merged, strict=True):
            self.bind(ast.copy_location(ast.Name(name, ast.Store()), node), value)

    def _agree(self, node: ast.AST, name: str, x: Any, y: Any) -> None:
        if kinds(x) != kinds(y):
            raise self.error(node, f"`{name}` has type {_text(x)} after the then block and "
                             f"{_text(y)} after the else block: both must agree")  # fmt: skip

    def _returning_if(self, node: ast.If, test: tensor, rest: list[ast.stmt]) -> Returned:
        """Each branch goes on with what follows, so that both of them return."""
        done = self._branches([node.body + rest, node.orelse + rest])
        values = [None if outcome is None else outcome.value for _, _, outcome in done]
        if kinds(values[0]) != kinds(values[1]):
            raise self.error(node, f"inconsistent return types: {_text(values[0])} and "
                             f"{_text(values[1])}")  # fmt: skip
        return Returned(self.merged(test, [region for region, _, _ in done], values))

    # loops

    def _carried(self, nodes: list[ast.stmt], skip: str = "") -> list[str]:
        """Variables that a loop's body assigns and that hold run-time values before it."""
        return [
            name
            for name in assigned(nodes)
            if name != skip and name in self.variables and is_runtime(self.variables[name])
        ]

    def _do_While(self, node: ast.While) -> None:
        names = self._carried(node.body + [ast.Expr(node.test)])
        before = dict(self.variables)
        operands, make = flatten(tuple(before[n] for n in names))
        types = [p.type for p in operands]
        test, body = Region(types), Region(types)
        self._enter(names, make, test)
        with self.recorder.into(test):
            condition = self.evaluate(node.test)
            if isinstance(condition, loops.condition):
                condition = condition.condition
            if type(condition) is not tensor:
                raise self.error(node.test, "the condition of `while` must be a run-time value")
            flag = self.as_int1(condition)
            self.recorder.append(CONDITION, [flag, *test.arguments], [], {})
        self._enter(names, make, body)
        with self.recorder.into(body):
            self._inner(node.body)
            self._yield(node, names, before)
        made = self.recorder.append(WHILE, [p.handle for p in operands], types, {}, [test, body])
        self._leave(node.body, names, make, made, before)

    def _do_For(self, node: ast.For) -> None:
        over = self._iterator(node.iter)
        if isinstance(over, loops.static_range):
            for index in range(over.start, over.end, over.step):
                self.bind(node.target, index)
                self._inner(node.body)
            return
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "a loop has one variable")
        start, stop, step, options = _bounds(over)
        kind = ty.int32
        bounds = []
        for bound in (start, stop, step):
            found = bound.type if type(bound) is tensor else literal_type(unwrap(bound))
            if not found.is_int() or found.shape:
                raise self.error(node.iter, f"a loop's bounds are integer scalars, not {found}")
            kind = found if not bounds else integer_type(kind, found)
            bounds.append(bound)
        values = [cast(b, kind) if type(b) is tensor else constant(unwrap(b), kind) for b in bounds]
        if type(step) is not tensor and unwrap(step) == 0:
            raise self.error(node.iter, "a loop's step is not 0")
        self._loop(node, node.target.id, kind, values, options)

    def _iterator(self, node: ast.expr) -> Any:
        """`range(…)` is the language's; anything but a range is rejected."""
        if isinstance(node, ast.Call):
            with self.at(node):
                function = self.evaluate(node.func)
                if function is range:
                    function = loops.range
                args = [self.evaluate(a) for a in node.args]
                named = {k.arg: self.evaluate(k.value) for k in node.keywords if k.arg}
                over = function(*args, **named)
        else:
            over = self.evaluate(node)
        if not isinstance(over, (loops.range, loops.static_range)):
            raise self.error(node, "Only `range` and `static_range` iterators are currently "
                             "supported", UnsupportedLanguageConstruct)  # fmt: skip
        return over

    def _loop(
        self, node: ast.For, index: str, kind: ty.dtype, bounds: list[Any], options: dict[str, Any]
    ) -> None:
        names = self._carried(node.body, index)
        before = dict(self.variables)
        operands, make = flatten(tuple(before[n] for n in names))
        types = [p.type for p in operands]
        body = Region([kind, *types], [index])
        inner = Region()
        inner.arguments = body.arguments[1:]
        self._enter(names, make, inner)
        self.variables[index] = tensor(body.arguments[0], kind)
        with self.recorder.into(body):
            self._inner(node.body)
            self._yield(node, names, before)
        values = [b.handle for b in bounds] + [p.handle for p in operands]
        made = self.recorder.append(FOR, values, types, options, [body])
        self._leave(node.body, names, make, made, before)
        if index not in before:
            self.variables[index] = Missing("a loop's variable ends with the loop")

    def _enter(self, names: list[str], make: Any, region: Region) -> None:
        """Inside a region the carried variables are its arguments."""
        parts = [tensor(v, v.type) for v in region.arguments]
        for name, value in zip(names, make(parts), strict=True):
            self.variables[name] = value
        for name in names:
            for part in flatten(self.variables[name])[0]:
                part.handle.name = part.handle.name or name

    def _yield(self, node: ast.stmt, names: list[str], before: dict[str, Any]) -> None:
        values = []
        for name in names:
            after = self.variables[name]
            if isinstance(after, Missing) or kinds(after) != kinds(before[name]):
                raise self.error(node, f"loop-carried variable `{name}` has initial type "
                                 f"{_text(before[name])} but is re-assigned to {_text(after)} in "
                                 "the loop: its type must not change")  # fmt: skip
            values += [p.handle for p in flatten(after)[0]]
        self.recorder.append(YIELD, values, [], {})

    def _leave(
        self, nodes: list[ast.stmt], names: list[str], make: Any, made: Operation,
        before: dict[str, Any],
    ) -> None:  # fmt: skip
        """After a loop: carried variables are its results; what it newly bound is gone."""
        self.variables = before
        for name in assigned(nodes):
            if name not in before:
                self.variables[name] = Missing("it is only assigned inside a loop")
        parts = [tensor(v, v.type) for v in made.results]
        for name, value in zip(names, make(parts), strict=True):
            self.variables[name] = value
            for part in flatten(value)[0]:
                part.handle.name = part.handle.name or name


def _bounds(over: loops.range) -> tuple[Any, Any, Any, dict[str, Any]]:
    options = {
        name: value
        for name in ("num_stages", "loop_unroll_factor", "flatten", "warp_specialize",
                     "disallow_acc_multi_buffer", "disable_licm")
        if (value := unwrap(getattr(over, name, None))) not in (None, False)
    }  # fmt: skip
    return over.start, over.end, over.step, options


def _unbound(name: str) -> Missing:
    return Missing(f"nothing assigns {name}")


def _text(value: Any) -> str:
    if isinstance(value, Missing):
        return "nothing"
    return str(getattr(value, "type", None) or repr(value))


def _loaded(target: ast.expr) -> ast.expr:
    import copy

    loaded = copy.copy(target)
    loaded.ctx = ast.Load()  # type: ignore[attr-defined]
    return loaded



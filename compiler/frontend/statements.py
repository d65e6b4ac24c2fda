"""Statements: assignments and branches (loops are in `looping`).

Control flow on compile-time values is decided here; on run-time values it becomes an operation with
regions, and the variables that it changes become the operation's results. An early return moves
what follows it into the other branch.
"""

from __future__ import annotations

import ast
import copy
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from blockstep.compiler.frontend.expressions import Expressions
from blockstep.compiler.frontend.flatten import kinds
from blockstep.compiler.frontend.scope import Missing, is_changeable, is_unchanged, returns
from blockstep.errors import UnsupportedLanguageConstruct
from blockstep.ir import Region
from blockstep.language import during
from blockstep.language.constant import unwrap
from blockstep.language.value import tensor

NOTHING = Missing("nothing assigns it")


class Returned:
    """How a list of statements ends: it always returns `value`, or it falls through (None)."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Joint(ast.Pass):
    """Where an `if` on a constant ended: its branch before, what followed it after."""


class _Merge(ast.Pass):
    """Where a branch of an `if` on a run-time value ended: other paths come here too."""


@dataclass(frozen=True)
class _Branch:
    """One branch of an `if`: its region, the variables after it, those it assigned, its end."""

    region: Region
    variables: dict[str, Any]
    defined: set[str]
    outcome: Returned | None


class Statements(Expressions):
    """Visits statement nodes; `run` is the entry."""

    def run(self, nodes: list[ast.stmt]) -> Returned | None:
        """Compiles statements in order; how they return, if they do."""
        for position, node in enumerate(nodes):
            self.reject(node)
            if isinstance(node, ast.If):
                rest = nodes[position + 1 :]
                outcome = self._if(node, rest)
                if isinstance(outcome, list):
                    return self.run([*outcome, _Joint(), *rest])
                if outcome is not None:
                    return outcome
                continue
            if isinstance(node, ast.Return):
                with self.at(node):
                    value = None if node.value is None else during.result(self.evaluate(node.value))
                self._unreached(node, value, nodes[position + 1 :])
                return Returned(value)
            self.statement(node)
        return None

    def _unreached(self, node: ast.Return, value: Any, rest: list[ast.stmt]) -> None:
        """What follows an `if` on a constant that returns is compiled all the same, as Triton does,
        and must return the same type, if it returns."""
        marks = [i for i, one in enumerate(rest) if isinstance(one, (_Joint, _Merge))]
        if not marks or isinstance(rest[marks[0]], _Merge):
            return
        ends = [i for i in marks if isinstance(rest[i], _Merge)]
        unreached = rest[marks[0] + 1 : ends[0] if ends else None]
        if not unreached:
            return
        before, outer = dict(self.variables), self.defined
        with self.recorder.into(Region()):
            other = self.run(unreached)
        self.variables, self.defined = before, outer
        if other is not None and kinds(other.value) != kinds(value):
            raise self.error(node, f"Inconsistent return types: {shown(value)} and "
                             f"{shown(other.value)}")  # fmt: skip

    def _do__Joint(self, node: ast.stmt) -> None:
        pass

    _do__Merge = _do__Joint

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
        self.reject(target)
        self.bind(target, during.assign(self.evaluate(node.value)))

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return
        value = self.evaluate(node.value)
        if not self.names.is_constexpr_type(node.annotation):
            self.bind(node.target, during.assign(value))
            return
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if not isinstance(self.variables.get(name, NOTHING), Missing):
            raise self.error(node, f"{name} is already defined. constexpr cannot be reassigned.")
        self.variables[name] = unwrap(value)

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        self.reject(node.target)
        value = self.recorder.expanded.get(node)
        if value is None:
            load = ast.copy_location(_loaded(node.target), node.target)
            value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
            self.recorder.expanded[node] = value
        self.bind(node.target, during.assign(self.evaluate(value)))

    def _do_With(self, node: ast.With) -> None:
        with ExitStack() as entered:
            for item in node.items:
                if not isinstance(item.context_expr, ast.Call):
                    message = "`with` takes a call of a context manager of the language"
                    raise self.error(item.context_expr, message, UnsupportedLanguageConstruct)
                found = entered.enter_context(self.evaluate(item.context_expr))
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, found)
            self._inner(node.body)

    def bind(self, target: ast.expr, value: Any) -> None:
        """Assigns to a name or, element by element, to a tuple of names."""
        if isinstance(target, ast.Name):
            if isinstance(value, tensor) and not value.handle.name:
                value.handle.name = target.id
            self.variables[target.id] = value
            self.defined.add(target.id)
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

    def _if(self, node: ast.If, rest: list[ast.stmt]) -> Returned | list[ast.stmt] | None:
        """How it returns. Where the condition is constant: the branch to go on with, before `rest`,
        since an `if` in it that returns has to know what follows."""
        with self.at(node.test):
            test = self.evaluate(node.test)
            if type(test) is not tensor:
                test = during.if_test(test)
        if test is True or test is False:
            return node.body if test else node.orelse
        if test.type.shape and test.numel != 1:
            raise self.error(node.test, "Boolean value of Tensor with more than one value is "
                             "ambiguous", UnsupportedLanguageConstruct)  # fmt: skip
        with self.at(node):
            if returns(node.body) or returns(node.orelse):
                return self._returning_if(node, test, rest)
            self._plain_if(node, test)
        return None

    def _branches(self, branches: list[list[ast.stmt]]) -> list[_Branch]:
        """Each branch compiled from the same variables."""
        before, outer = dict(self.variables), self.defined
        done = []
        for nodes in branches:
            self.variables, self.defined = dict(before), set()
            kept = {n: v for n, v in before.items() if is_changeable(v)}
            self.variables |= {n: copy.copy(v) for n, v in kept.items()}
            region = Region()
            with self.recorder.into(region):
                outcome = self.run(nodes)
            for name, value in kept.items():
                if is_unchanged(self.variables[name], value):
                    self.variables[name] = value
                else:
                    self.defined.add(name)
            done.append(_Branch(region, self.variables, self.defined, outcome))
        self.variables, self.defined = before, outer
        return done

    def _plain_if(self, node: ast.If, test: tensor) -> None:
        then, other = self._branches([node.body, node.orelse])
        names, left, right = [], [], []
        for name in sorted(then.defined | other.defined):
            before = self.variables.get(name, NOTHING)
            x, y = then.variables.get(name, NOTHING), other.variables.get(name, NOTHING)
            if isinstance(before, Missing):
                if isinstance(x, Missing) or isinstance(y, Missing):
                    self.variables[name] = Missing("it is only assigned on one path of an `if`")
                    continue
                self._agree(node, name, x, y)
            elif before is None:
                if not {name} <= then.defined & other.defined:
                    continue
                self._agree(node, name, x, y)
            elif (x is before and y is before) or not self._kept(node, name, before, x, y):
                continue
            names.append(name)
            left.append(x)
            right.append(y)
        merged = self.merged(test, [then.region, other.region], [tuple(left), tuple(right)])
        for name, value in zip(names, merged, strict=True):
            self.bind(ast.copy_location(ast.Name(name, ast.Store()), node), value)

    def _kept(self, node: ast.AST, name: str, before: Any, x: Any, y: Any) -> bool:
        """Both branches must leave a variable the type that it had."""
        for value, which in ((x, "then"), (y, "else")):
            if kinds(value) != kinds(before):
                raise self.error(node, f"initial value for `{name}` is of type {shown(before)}, but "
                                 f"the {which} block redefines it as {shown(value)}")  # fmt: skip
        return True

    def _agree(self, node: ast.AST, name: str, x: Any, y: Any) -> None:
        if kinds(x) != kinds(y):
            raise self.error(node, f"Mismatched type for {name} between then block ({shown(x)}) "
                             f"and else block ({shown(y)})")  # fmt: skip

    def _returning_if(self, node: ast.If, test: tensor, rest: list[ast.stmt]) -> Returned:
        """Each branch goes on with what follows, so that both of them return."""
        done = self._branches([[*part, _Merge(), *rest] for part in (node.body, node.orelse)])
        values = [None if one.outcome is None else one.outcome.value for one in done]
        if kinds(values[0]) != kinds(values[1]):
            raise self.error(node, f"Inconsistent return types: {shown(values[0])} and "
                             f"{shown(values[1])}")  # fmt: skip
        return Returned(self.merged(test, [one.region for one in done], values))


def shown(value: Any) -> str:
    if isinstance(value, Missing):
        return "nothing"
    return str(getattr(value, "type", None) or repr(value))


def _loaded(target: ast.expr) -> ast.expr:
    loaded = copy.copy(target)
    loaded.ctx = ast.Load()  # type: ignore[attr-defined]
    return loaded

"""Loops: what their bodies change becomes values that the loop carries around.

A variable that is bound before a loop and assigned in it must keep its type; one that is a constexpr
or None before it cannot be assigned at all, as in Triton.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from blockstep.compiler.frontend.flatten import flatten, is_runtime, kinds
from blockstep.compiler.frontend.scope import Missing, assigned, is_changeable, mentioned
from blockstep.compiler.frontend.statements import Statements, shown
from blockstep.errors import UnsupportedLanguageConstruct
from blockstep.ir import CONDITION, FOR, WHILE, YIELD, Operation, Region
from blockstep.language import elementwise, loops
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.constant import unwrap
from blockstep.language.promotion import constant, integer_type, literal_type
from blockstep.language.value import tensor


class Loops(Statements):
    """`for` and `while`."""

    def _carried(self, nodes: list[ast.stmt], skip: str = "") -> list[str]:
        """Variables that a loop's body assigns, or may change in place, and that hold run-time
        values before it."""
        read = mentioned(nodes)
        changed = [n for n, v in self.variables.items() if n in read and is_changeable(v)]
        return [
            name
            for name in dict.fromkeys([*assigned(nodes), *changed])
            if name != skip and name in self.variables and is_runtime(self.variables[name])
        ]

    def _do_While(self, node: ast.While) -> None:
        names = self._carried(node.body)
        before = dict(self.variables)
        operands, make = flatten(tuple(before[n] for n in names))
        types = [p.type for p in operands]
        test, body = Region(types), Region(types)
        self._enter(names, make, test)
        options: dict[str, Any] = {}
        with self.recorder.into(test):
            condition = self.evaluate(node.test)
            if isinstance(condition, loops.condition):
                options = {"disable_licm": True} if unwrap(condition.disable_licm) else {}
                condition = condition.condition
            self._tested(node, condition)
            self.recorder.append(CONDITION, [condition.handle, *test.arguments], [], {})
        self._enter(names, make, body)
        with self.recorder.into(body):
            self._body(node, names, before)
        made = self.recorder.append(
            WHILE, [p.handle for p in operands], types, options, [test, body]
        )
        self._leave(node.body, names, make, made, before)

    def _tested(self, node: ast.While, condition: Any) -> None:
        if type(condition) is not tensor:
            message = "the condition of `while` must be a run-time value, not a constexpr"
            raise self.error(node.test, message)
        if condition.type is not ty.int1:
            message = f"the condition of `while` must be a scalar int1, not {condition.type}"
            raise self.error(node.test, message)

    def _do_For(self, node: ast.For) -> None:
        over = self._iterator(node.iter)
        self.reject(node.target)
        for extra in node.orelse[:1]:
            self.reject(extra)
        assert isinstance(node.target, ast.Name)
        if isinstance(over, loops.static_range):
            for index in range(over.start, over.end, over.step):
                self.variables[node.target.id] = index
                self._inner(node.body)
            return
        bounds = [unwrap(b) for b in (over.start, over.end, over.step)]
        kinds_of = [self._bound(node, b) for b in bounds]
        kind = integer_type(integer_type(kinds_of[0], kinds_of[1]), kinds_of[2])
        if type(bounds[2]) is not tensor and bounds[2] == 0:
            raise self.error(node.iter, "the step of a loop must not be 0")
        values = [cast(b, kind) if type(b) is tensor else constant(b, kind) for b in bounds]
        self._loop(node, node.target.id, kind, values, _options(over))

    def _bound(self, node: ast.For, bound: Any) -> ty.dtype:
        kind: ty.dtype = bound.type if type(bound) is tensor else literal_type(bound)
        if not kind.is_int() or kind.shape:
            message = "the bounds and the step of a loop must be scalar integers"
            raise self.error(node.iter, f"{message}, not {kind}")
        return kind

    def _iterator(self, node: ast.expr) -> Any:
        """`range(…)` is the language's; anything but a range is rejected."""
        self.reject(node)
        if isinstance(node, ast.Call):
            with self.at(node):
                function = self.evaluate(node.func)
                if isinstance(node.func, ast.Name) and node.func.id in self.variables:
                    self._unrolls(node, function)
                if function is range:
                    function = loops.range
                args = self._items(node.args)
                named = {k.arg: self.evaluate(k.value) for k in node.keywords if k.arg}
                over = function(*args, **named)
        else:
            over = self.evaluate(node)
        if not isinstance(over, (loops.range, loops.static_range)):
            message = "Only `range` and `static_range` iterators are currently supported"
            raise self.error(node, message, UnsupportedLanguageConstruct)
        return over

    def _unrolls(self, node: ast.Call, function: Any) -> None:
        """A loop at run time names its range; only `static_range` may come from a variable."""
        if function is not loops.static_range:
            message = f"`{ast.unparse(node.func)}` is no name of `range`: write tl.range itself"
            raise self.error(node, message, UnsupportedLanguageConstruct)

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
            self._body(node, names, before)
        values = [b.handle for b in bounds] + [p.handle for p in operands]
        made = self.recorder.append(FOR, values, types, options, [body])
        self._leave(node.body, names, make, made, before)
        self.variables[index] = Missing("a loop's variable ends with the loop", _last(bounds))

    def _body(self, node: ast.For | ast.While, names: list[str], before: dict[str, Any]) -> None:
        """The body and what it yields. Raises CompilationError for a variable that may not change."""
        outer, self.defined = self.defined, set()
        self._inner(node.body)
        changed, self.defined = self.defined, outer
        values = []
        for name in names:
            after = self.variables[name]
            if isinstance(after, Missing) and after.later is not None:
                after = after.later()
            if isinstance(after, Missing) or kinds(after) != kinds(before[name]):
                raise self.error(node, f"Loop-carried variable {name} has initial type "
                                 f"{shown(before[name])} but is re-assigned to {shown(after)} in "
                                 "loop! Please make sure that the type stays consistent."
                                 )  # fmt: skip
            values += [p.handle for p in flatten(after)[0]]
        for name in sorted(changed - set(names)):
            if name in before and not isinstance(before[name], Missing):
                self._constant_changed(node, name, before[name])
        self.recorder.append(YIELD, values, [], {})
        self.defined |= {n for n in changed if n in names}

    def _constant_changed(self, node: ast.stmt, name: str, before: Any) -> None:
        if before is None or isinstance(before, ty.dtype):
            raise self.error(node, f"Loop carried variable {name} is not a triton value: it is "
                             f"{before} before the loop")  # fmt: skip
        raise self.error(node, f"cannot reassign constexpr {name} in the loop")

    def _enter(self, names: list[str], make: Any, region: Region) -> None:
        """Inside a region the carried variables are its arguments."""
        parts = [tensor(v, v.type) for v in region.arguments]
        for name, value in zip(names, make(parts), strict=True):
            self.variables[name] = value
            self._label(name, value)

    def _label(self, name: str, value: Any) -> None:
        for part in flatten(value)[0]:
            part.handle.name = part.handle.name or name

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
            self._label(name, value)


def _last(bounds: list[Any]) -> Callable[[], Any]:
    """The value that the loop's variable had last, as Python leaves it after the loop."""

    def later() -> Any:
        lower, upper, step = bounds
        span = elementwise.sub(elementwise.sub(upper, lower), step)
        trips = elementwise.floordiv(span, step)
        return elementwise.add(lower, elementwise.mul(trips, step))

    return later


def _options(over: loops.range) -> dict[str, Any]:
    """The options that were given, as attributes."""
    return {
        name: value
        for name in ("num_stages", "loop_unroll_factor", "flatten", "warp_specialize",
                     "disallow_acc_multi_buffer", "disable_licm")
        if (value := unwrap(getattr(over, name, None))) not in (None, False)
    }  # fmt: skip

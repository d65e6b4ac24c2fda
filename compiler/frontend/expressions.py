"""Expressions: evaluated as Python would, with run-time values recorded instead of computed.

A compile-time expression is simply evaluated. Where a run-time value takes part, the same `tl`
functions that the step machine calls validate, promote and record. Every error of theirs becomes a
CompilationError at the innermost expression.
"""

from __future__ import annotations

import ast
import builtins
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from blockstep.compiler.frontend.context import Context
from blockstep.compiler.frontend.flatten import flatten
from blockstep.compiler.frontend.scope import Missing
from blockstep.errors import UnsupportedLanguageConstruct
from blockstep.ir import IF, YIELD, Region, Value
from blockstep.language import during, elementwise
from blockstep.language import types as ty
from blockstep.language.allowed import is_supported_builtin
from blockstep.language.casting import cast
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.function import JITFunction
from blockstep.language.names import ABSENT
from blockstep.language.promotion import to_tensor
from blockstep.language.value import tensor

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_BUILTINS: dict[str, Any] = {
    "min": during.min_,
    "max": during.max_,
    "isinstance": during.isinstance_,
}


class Expressions(Context, ABC):
    """Evaluates expression nodes; `evaluate` is the entry."""

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression. Raises CompilationError at it (or at one inside it)."""
        self.reject(node)
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.error(node, f"{type(node).__name__} is not part of the language",
                             UnsupportedLanguageConstruct)  # fmt: skip
        with self.at(node):
            return method(node)

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id in self.variables:
            found = self.variables[node.id]
            if isinstance(found, Missing):
                if found.later is None:
                    raise self.error(node, f"{node.id} is not defined: {found.why}")
                found = self.variables[node.id] = found.later()
            return found
        found = self.names.outer(node.id)
        if found is not ABSENT:
            return found
        if node.id in _BUILTINS:
            return _BUILTINS[node.id]
        if is_supported_builtin(node.id):
            return getattr(builtins, node.id)
        raise self.error(node, f"{node.id} is not defined")

    def _Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.evaluate(item) for item in node.elts)

    def _List(self, node: ast.List) -> Any:
        return tuple(self.evaluate(item) for item in node.elts)

    def _Starred(self, node: ast.Starred) -> Any:
        message = "`*` unpacks a tuple among the arguments of a call only; join tuples with `+`"
        raise self.error(node, message, UnsupportedLanguageConstruct)

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        """The arguments of a call."""
        out: list[Any] = []
        for item in nodes:
            if isinstance(item, ast.Starred):
                out.extend(self.evaluate(item.value))
            else:
                out.append(self.evaluate(item))
        return out

    def _BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return _BINARY[type(node.op)](left, right)

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return during.not_(value)
        return _UNARY[type(node.op)](value)

    def _Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise self.error(node, "simultaneous multiple comparison is not supported",
                             UnsupportedLanguageConstruct)  # fmt: skip
        left, right = self.evaluate(node.left), self.evaluate(node.comparators[0])
        kind = type(node.ops[0])
        if kind is ast.Is:
            return unwrap(left) is unwrap(right)
        if kind is ast.IsNot:
            return unwrap(left) is not unwrap(right)
        if kind not in _COMPARE:
            raise self.error(node, "`in` is not supported", UnsupportedLanguageConstruct)
        for one, other in ((left, right), (right, left)):
            if type(one) is tensor and (unwrap(other) is None or isinstance(unwrap(other), str)):
                raise TypeError(f"cannot compare {one.type} with {unwrap(other)!r}")
        return _COMPARE[kind](left, right)

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        conjunction = isinstance(node.op, ast.And)
        combine = elementwise.logical_and if conjunction else elementwise.logical_or
        waiting: list[Any] = []
        value: Any = None
        for operand in node.values:
            value = self.evaluate(operand)
            if type(value) is tensor:
                waiting.append(value)
            elif bool(unwrap(value)) is not conjunction:
                return value  # decided: what follows is not compiled
        if not waiting:
            return value
        if type(value) is not tensor and len(waiting) == 0:
            return value
        combined = waiting.pop()
        while waiting:
            combined = combine(waiting.pop(), combined)
        return combined

    def _IfExp(self, node: ast.IfExp) -> Any:
        test = self.evaluate(node.test)
        if type(test) is not tensor:
            return self.evaluate(node.body if unwrap(test) else node.orelse)
        if test.type.shape:
            raise self.error(node.test, f"the condition of a ternary must be a scalar, not "
                             f"{test.type}; use tl.where", UnsupportedLanguageConstruct)  # fmt: skip
        return self._choice(node, test)

    def _choice(self, node: ast.IfExp, test: tensor) -> Any:
        regions, values = [], []
        for branch in (node.body, node.orelse):
            region = Region()
            with self.recorder.into(region):
                found = self.evaluate(branch)
                value = None if unwrap(found) is None else to_tensor(found)
            regions.append(region)
            values.append(value)
        kinds = [None if v is None else [p.type for p in flatten(v)[0]] for v in values]
        if kinds[0] != kinds[1]:
            raise self.error(node, "Ternary expression with dynamic condition has inconsistent types "
                             f"{_shown(values[0])} and {_shown(values[1])}")  # fmt: skip
        return self.merged(test, regions, values)

    def merged(self, test: tensor, regions: list[Region], values: list[Any]) -> Any:
        """An `if` operation whose two regions compute `values`; the value after it."""
        for region, value in zip(regions, values, strict=True):
            with self.recorder.into(region):
                self.recorder.append(YIELD, [p.handle for p in flatten(value)[0]], [], {})
        parts, rebuild = flatten(values[0])
        condition = self.as_int1(test)
        made = self.recorder.append(IF, [condition], [p.type for p in parts], {}, regions)
        return rebuild([tensor(v, v.type) for v in made.results])

    def as_int1(self, test: tensor) -> Value:
        """A scalar condition as an int1."""
        if test.type.shape:
            from blockstep.language.shape import item

            test = item(test)
        if test.type.scalar.is_ptr():
            test = cast(test, ty.int64)
        value: tensor = test if test.type is ty.int1 else elementwise.not_equal(test, 0)
        return value.handle  # type: ignore[no-any-return]

    def _NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = during.assign(self.evaluate(node.value))
        self.variables[node.target.id] = value
        return value

    def _Attribute(self, node: ast.Attribute) -> Any:
        holder = self.evaluate(node.value)
        if node.attr == "value":
            return (
                during.value_of(holder)
                if not hasattr(holder, "__blockstep_value__")
                else holder.value
            )
        if node.attr == "type":
            return during.type_of(holder)
        if isinstance(holder, constexpr):
            holder = holder.value
        if node.attr == "numel" and type(holder) is tensor and not holder.type.shape:
            raise AttributeError(f"a scalar ({holder.type}) has no `numel`")
        return getattr(holder, node.attr)

    def _Subscript(self, node: ast.Subscript) -> Any:
        value = self.evaluate(node.value)
        if isinstance(value, JITFunction):
            raise self.error(node, "a kernel cannot be launched inside a kernel")
        index = self.evaluate(node.slice)
        if isinstance(value, (tuple, list, str)):
            return value[unwrap(index)]
        return value[index]

    def _Slice(self, node: ast.Slice) -> Any:
        ends = [
            None if n is None else unwrap(self.evaluate(n))
            for n in (node.lower, node.upper, node.step)
        ]
        return slice(*ends)

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(part)) for part in node.values)

    def _FormattedValue(self, node: ast.FormattedValue) -> str:
        value = unwrap(self.evaluate(node.value))
        if isinstance(value, tensor):
            raise self.error(node, "an f-string in a kernel takes compile-time values only")
        spec = "" if node.format_spec is None else self.evaluate(node.format_spec)
        convert: dict[int, Callable[[Any], Any]] = {115: str, 114: repr, 97: ascii}
        return format(convert.get(node.conversion, lambda v: v)(value), spec)

    def _ListComp(self, node: ast.ListComp) -> Any:
        (loop,) = node.generators
        before = dict(self.variables)
        out = []
        for item in during.tuple_items(self.evaluate(loop.iter)):
            self.bind(loop.target, item)
            out.append(self.evaluate(node.elt))
        self.variables = before
        return tuple(out)

    def _Call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        arguments = self._items(node.args)
        named = {k.arg: self.evaluate(k.value) for k in node.keywords if k.arg is not None}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.evaluate(keyword.value))
        return self.call(node, function, arguments, named)

    @abstractmethod
    def call(self, node: ast.expr, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """A call of a jit function, of the language, or of a function of compile-time values."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Any) -> None:
        """Assigns to a name or a tuple of names."""


def _shown(value: Any) -> str:
    if value is None:
        return "None"
    return str(getattr(value, "type", type(value).__name__))

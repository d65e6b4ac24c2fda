"""Compile-time values: `constexpr`, and the arithmetic that keeps them so.

A kernel's constexpr parameters reach the body as plain Python values; a `constexpr` object exists
where a user makes one (`tl.constexpr(5)`, a module-level constant) and behaves as its value does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


def unwrap(x: Any) -> Any:
    """The value inside a constexpr; lists and tuples are unwrapped element by element."""
    kind = type(x)
    if kind is constexpr:
        return x.value
    if kind is tuple:
        return tuple([unwrap(item) for item in x])
    if kind is list:
        return [unwrap(item) for item in x]
    return x


class constexpr:
    """A value known when the kernel is compiled."""

    __slots__ = ("value", "__dict__")
    value: Any
    __triton_builtin__ = True

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        self.value = value

    @property
    def type(self) -> Any:
        from blockstep.language.types import constexpr_type

        return constexpr_type(self.value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash((self.value, type(self.value)))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return (constexpr(item) for item in self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def logical_and(self, other: Any) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        return constexpr(self.value or unwrap(other))

    def __not__(self) -> constexpr:
        return constexpr(not self.value)

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __getitem__(self, item: Any) -> Any:
        found = self.value[unwrap(item)]
        return constexpr(found) if isinstance(found, (bool, int, float, str)) else found


def _binary(fn: Callable[[Any, Any], Any]) -> Callable[[constexpr, Any], Any]:
    def apply(self: constexpr, other: Any) -> Any:
        if hasattr(other, "__blockstep_value__"):  # a run-time value decides
            return NotImplemented
        return constexpr(fn(self.value, unwrap(other)))

    return apply


def _reflected(fn: Callable[[Any, Any], Any]) -> Callable[[constexpr, Any], Any]:
    def apply(self: constexpr, other: Any) -> Any:
        if hasattr(other, "__blockstep_value__"):
            return NotImplemented
        return constexpr(fn(unwrap(other), self.value))

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"):
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(constexpr, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _name in ("and_", "or_", "xor"):
    setattr(constexpr, f"__{_name.rstrip('_')}__", _binary(getattr(operator, _name)))
    setattr(constexpr, f"__r{_name.rstrip('_')}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, _name)))


class const:
    """The annotation of a pointer that a kernel only reads through (`x_ptr: tl.const`)."""

"""Common subexpressions: of two equal pure operations the earlier one serves both."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from blockstep.compiler.passes.effects import is_pure
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language.constant import unwrap

Known = dict[Hashable, Operation]


@dataclass(frozen=True)
class CSE:
    """An operation inside a region sees what stands before the region, not the other way round."""

    name: str = "cse"

    def apply(self, function: Function) -> None:
        """Replaces later equal operations by earlier ones that are always computed before them."""
        _region(function.body, {})


def _region(region: Region, outer: Known) -> None:
    known = dict(outer)
    for operation in list(region.operations):
        if is_pure(operation):
            key = _key(operation)
            earlier = known.setdefault(key, operation)
            if earlier is not operation and left():
                _take_names(operation.results, earlier.results)
                operation.replace_with(earlier.results)
                spend(operation)
            continue
        for inner in operation.regions:
            _region(inner, known)


def _key(operation: Operation) -> Hashable:
    operands = tuple(map(id, operation.operands))
    attributes = tuple((k, _exact(v)) for k, v in operation.attributes.items())
    results = tuple((id(r.type), r.layout) for r in operation.results)
    return operation.name, operands, attributes, results


def _exact(value: Any) -> Hashable:
    """A key in which 0, 0.0, -0.0 and False differ."""
    value = unwrap(value)
    if isinstance(value, (bool, int, float, str)):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return tuple(_exact(v) for v in value)
    return value if value is None else id(value)


def _take_names(lost: list[Value], kept: list[Value]) -> None:
    for old, new in zip(lost, kept, strict=True):
        new.name = new.name or old.name

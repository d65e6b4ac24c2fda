"""A copy of a function that computes in the types that `widening` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.ir import Function, Location, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.ops.cast import CAST
from blockstep.runtime.whatif.widening import Types, Widening, is_float, typed, types_of


def widened(function: Function, how: Widening) -> Function:
    """The function with some roundings switched off. Raises NotWidened."""
    types = types_of(function, how)
    made = Function(function.name, [], [], function.results, function.constants, function.file)
    _Copy(how, types, {}).region(function.body, made.body)
    return made


class _Copy:
    """What is known while a function is copied: the new value of each old one."""

    def __init__(self, how: Widening, types: Types, values: dict[Value, Value]) -> None:
        self.how, self.types, self.values = how, types, values

    def region(self, old: Region, new: Region, wanted: Sequence[ty.dtype] | None = None) -> None:
        """Copies a region; `wanted` are the types that its terminator passes on."""
        for argument in old.arguments:
            kind = ty.blocked(self.types[argument], argument.type.shape)
            self.values[argument] = new.add_argument(kind, argument.name)
        for operation in old.operations:
            kinds = [self.types[v] for v in operation.operands]
            if operation is old.operations[-1]:
                given = self._operands(operation, wanted or kinds, new)
                new.append(Operation(operation.op, given, [], operation.attributes, (),
                                     operation.location))  # fmt: skip
            elif operation.regions:
                self._structured(operation, kinds, new)
            else:
                self._plain(operation, kinds, new)

    def _plain(self, operation: Operation, kinds: list[ty.dtype], new: Region) -> None:
        made = typed(operation, kinds, self.how)
        given = self._operands(operation, made.operands, new)
        if operation.name in ("cast", "round_tf32") and self._is_dropped(operation, made.results):
            self.values[operation.results[0]] = given[0]
            return
        results = [
            ty.blocked(kind, r.type.shape)
            for kind, r in zip(made.results, operation.results, strict=True)
        ]
        self._append(Operation(operation.op, given, results, made.attributes, (),
                               operation.location), operation, new)  # fmt: skip

    def _is_dropped(self, operation: Operation, results: Sequence[ty.dtype]) -> bool:
        if operation.name == "cast":
            return results[0] is self.types[operation.operands[0]]
        return self.how.keeps(operation)

    def _append(self, made: Operation, operation: Operation, new: Region) -> None:
        for old, result in zip(operation.results, made.results, strict=True):
            result.name = old.name
            self.values[old] = result
        new.append(made)

    def _structured(self, operation: Operation, kinds: list[ty.dtype], new: Region) -> None:
        results = [self.types[r] for r in operation.results]
        given = self._operands(operation, self._entering(operation, kinds), new)
        regions = [Region() for _ in operation.regions]
        for old, copied in zip(operation.regions, regions, strict=True):
            self.region(old, copied, self._leaving(operation, old, results))
        kept = [
            ty.blocked(kind, r.type.shape)
            for kind, r in zip(results, operation.results, strict=True)
        ]
        self._append(Operation(operation.op, given, kept, operation.attributes, regions,
                               operation.location), operation, new)  # fmt: skip

    def _entering(self, operation: Operation, kinds: list[ty.dtype]) -> list[ty.dtype]:
        if operation.name == "for":
            (body,) = operation.regions
            return [*kinds[:3], *(self.types[a] for a in body.arguments[1:])]
        if operation.name == "while":
            return [self.types[a] for a in operation.regions[0].arguments]
        return kinds

    def _leaving(
        self, operation: Operation, region: Region, results: list[ty.dtype]
    ) -> list[ty.dtype]:
        if operation.name != "while":
            return results
        test, body = operation.regions
        if region is body:
            return [self.types[a] for a in test.arguments]
        return [self.types[test.terminator.operands[0]], *(self.types[a] for a in body.arguments)]

    def _operands(
        self, operation: Operation, kinds: Sequence[ty.dtype], new: Region
    ) -> list[Value]:
        return [
            self._in_type(v, kind, operation.location, new)
            for v, kind in zip(operation.operands, kinds, strict=True)
        ]

    def _in_type(self, old: Value, kind: ty.dtype, place: Location | None, new: Region) -> Value:
        """The new value in a format; a number that the source writes is read anew in it."""
        value = self.values[old]
        has = value.type.scalar
        if has is kind or not is_float(kind) or not is_float(has):
            return value
        whole = ty.blocked(kind, value.type.shape)
        source = value.producer
        if source is not None and source.name == "constant":
            attributes: dict[str, Any] = {**source.attributes, "type": whole}
            made = Operation(source.op, [], [whole], attributes, (), place)
        else:
            attributes = {"source": has, "target": kind, "rounding": None}
            made = Operation(CAST, [value], [whole], attributes, (), place)
        new.append(made)
        return made.results[0]


__all__ = ["widened"]

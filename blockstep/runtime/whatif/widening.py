"""Types of a function that computes some of its values in wider formats.

A *decision* of a kernel is that some values are rounded to a narrow format. To switch it off is to
give these values a wider format, and all that is computed from them the wider of the operands'
formats, as the language promotes, up to the next conversion that the source asks for or the next
store. So a decision is measured as the kernel that a person would have after the fix.

`typed` says what one operation becomes; `types_of` goes over a function until what loops carry
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import region as scalar
from blockstep.language import types as ty
from blockstep.language.ops.libdevice import LIBDEVICE

Types = dict[Value, ty.dtype]
"""The scalar type that each value has in the widened function."""

_RANK = {"fp16": 1, "bf16": 1, "fp32": 2, "fp64": 3}
_AS_WRITTEN = frozenset({"bitcast", "asm", "asm_packed", "dot_scaled", "map", "map_packed"})
_POINTEE = frozenset({"load", "store", "atomic_rmw", "atomic_cas", "atomic_load", "atomic_store"})


class NotWidened(ValueError):
    """Why a launch cannot be run again in other formats."""


@dataclass(frozen=True, slots=True)
class Widening:
    """Which roundings are switched off: the results of `operations` have a wider format, `ieee`
    are products of matrices that read float32 as it is, `memory` gives the element type of the
    array behind a parameter. With `least`, all floats have at least that format."""

    operations: frozenset[Operation] = frozenset()
    ieee: frozenset[Operation] = frozenset()
    memory: Mapping[str, ty.dtype] = field(default_factory=dict)
    least: ty.dtype | None = None

    def target(self, operation: Operation, kind: ty.dtype) -> ty.dtype:
        """The format of what an operation computes from operands of a format."""
        if self.least is not None:
            return promoted([kind, self.least])
        return wider(kind) if operation in self.operations else kind

    def keeps(self, operation: Operation) -> bool:
        """Whether an operation that only rounds does not."""
        return self.least is not None or operation in self.operations


@dataclass(frozen=True, slots=True)
class Typed:
    """What an operation becomes: scalar types of operands and results, and its attributes."""

    operands: Sequence[ty.dtype]
    results: Sequence[ty.dtype]
    attributes: Mapping[str, Any]


def rank(kind: ty.dtype) -> int:
    """Formats by width: 0 for 8 bits, 3 for float64."""
    return _RANK.get(kind.name, 0)


def wider(kind: ty.dtype) -> ty.dtype:
    """float32 for what is narrower, else float64."""
    return ty.float32 if rank(kind) < 2 else ty.float64


def promoted(kinds: Iterable[ty.dtype]) -> ty.dtype:
    """The wider of float formats; of two formats of one width, float32."""
    found, *rest = kinds
    for kind in rest:
        if rank(kind) > rank(found):
            found = kind
        elif rank(kind) == rank(found) and kind is not found:
            found = ty.float32
    return found


def is_float(kind: ty.dtype) -> bool:
    """Whether it is a float; a pointer is none."""
    return not kind.is_ptr() and kind.is_floating()


def typed(operation: Operation, kinds: Sequence[ty.dtype], how: Widening) -> Typed:
    """One operation without regions, given the types that its operands have now."""
    if operation.name in _AS_WRITTEN:
        return _as_written(operation)
    special = _SPECIAL.get(operation.name)
    if special is not None:
        return special(operation, list(kinds), how)
    if any(k.is_ptr() for k in kinds):
        return _pointers(operation, list(kinds))
    return _computed(operation, list(kinds), how)


def _as_written(operation: Operation) -> Typed:
    operands = [v.type.scalar for v in operation.operands]
    return Typed(operands, [r.type.scalar for r in operation.results], operation.attributes)


def _libdevice(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """A library function: of float64 where it has one, else as it is written."""
    made = _computed(operation, kinds, how)
    function = LIBDEVICE[operation.attributes["function"]]
    overload = function.overload(tuple(k.codegen_name() for k in made.operands))
    if overload is None or overload.result != made.results[0].codegen_name():
        return _as_written(operation)
    return made


def _computed(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """All floats in one format: the widest of the operands', or a wider one."""
    floats = [k for k in kinds if is_float(k)]
    made = [r.type.scalar for r in operation.results]
    given = floats or [k for k in made if is_float(k)]
    if not given:
        return Typed(kinds, made, operation.attributes)
    kind = how.target(operation, promoted(given))
    results = [kind if is_float(r) else r for r in made]
    attributes = dict(operation.attributes)
    if "region" in attributes and any(k is not kind for k in _written(operation)):
        attributes["region"] = _region(attributes["region"], kind)
    if operation.name == "constant":
        attributes["type"] = ty.blocked(kind, operation.results[0].type.shape)
    return Typed([kind if is_float(k) else k for k in kinds], results, attributes)


def _written(operation: Operation) -> list[ty.dtype]:
    return [k for k in (v.type.scalar for v in operation.operands) if is_float(k)]


def _region(old: scalar.Region, kind: ty.dtype) -> scalar.Region:
    """The function of scalars with all its floats in one format."""

    def moved(value: Any) -> Any:
        return kind if isinstance(value, ty.dtype) and is_float(value) else value

    operations = tuple(
        replace(
            o, attributes={k: moved(v) for k, v in o.attributes.items()},
            types=tuple(map(moved, o.types)),
        )
        for o in old.operations
    )  # fmt: skip
    inputs = tuple(map(moved, old.inputs))
    return scalar.Region(inputs, operations, old.outputs, old.bundled)


def _pointers(operation: Operation, kinds: list[ty.dtype]) -> Typed:
    """An operation that passes pointers: all of one type, that of the memory behind them."""
    pointers = {k for k in kinds if k.is_ptr()}
    if len(pointers) > 1:
        raise NotWidened("a pointer may lead to arrays of two formats")
    (pointer,) = pointers
    before = {k for k in (v.type.scalar for v in operation.operands) if k.is_ptr()}
    if pointers == before:
        return Typed(kinds, [r.type.scalar for r in operation.results], operation.attributes)
    if any(r.type.scalar not in before for r in operation.results):
        raise NotWidened("it computes with the addresses of an array")
    attributes = dict(operation.attributes)
    if "itemsize" in attributes:
        attributes["itemsize"] = pointer.element_ty.itemsize  # type: ignore[attr-defined]
    return Typed(kinds, [pointer] * len(operation.results), attributes)


def _pointer(operation: Operation) -> ty.dtype:
    return operation.operands[0].type.scalar


def _memory(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """A load, store or atomic: values have the type of the memory."""
    element = kinds[0].element_ty  # type: ignore[attr-defined]
    was = _pointer(operation).element_ty  # type: ignore[attr-defined]
    operands = [kinds[0], *(element if k is not ty.int1 else k for k in kinds[1:])]
    if not is_float(was):
        operands = [kinds[0], *(v.type.scalar for v in operation.operands[1:])]
    results = [element if r.type.scalar is was else r.type.scalar for r in operation.results]
    return Typed(operands, results, operation.attributes)


def _cast(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """A conversion: to the type that the source names, unless that is what is widened."""
    (source,) = kinds
    target = operation.results[0].type.scalar
    if is_float(target):
        if is_float(source) and rank(source) > rank(target) and _narrows(operation):
            if how.keeps(operation):
                target = promoted([source, how.target(operation, target)])
        elif is_float(source):
            target = how.target(operation, promoted([source, target]))
        else:
            target = how.target(operation, target)
    if target is source:
        return Typed(kinds, [target], {**operation.attributes, "target": target, "source": source})
    rounding = operation.attributes.get("rounding")
    narrows = is_float(source) and is_float(target) and rank(target) < rank(source)
    attributes = {"source": source, "target": target, "rounding": rounding if narrows else None}
    return Typed(kinds, [target], attributes)


def _narrows(operation: Operation) -> bool:
    source, target = operation.operands[0].type.scalar, operation.results[0].type.scalar
    return not is_float(source) or rank(target) <= rank(source)


def _tf32(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """Rounding to tf32: `rewritten` leaves it out where it is switched off."""
    if how.keeps(operation):
        return Typed(kinds, kinds, operation.attributes)
    return Typed([ty.float32], [ty.float32], operation.attributes)


def _dot(operation: Operation, kinds: list[ty.dtype], how: Widening) -> Typed:
    """A product of matrices: factors of one format, and the format of the sum."""
    out = operation.results[0].type.scalar
    if not is_float(out):
        return Typed(kinds, [out], operation.attributes)
    was = promoted(v.type.scalar for v in operation.operands[:2])
    factors = promoted(kinds[:2])
    out = how.target(operation, promoted([out, *kinds[2:]]))
    if rank(out) == 3 or rank(factors) == 3:
        factors = out = ty.float64
    elif rank(factors) == 2:
        out = ty.float32
    attributes = {**operation.attributes, "out": out}
    if operation in how.ieee or factors is not was or how.least is not None:
        attributes["precision"] = "ieee"
    accumulator = [out] * (len(kinds) - 2)
    mixed = kinds[0] is not kinds[1] and factors is was  # two 8-bit formats in one product
    return Typed([*(kinds[:2] if mixed else [factors] * 2), *accumulator], [out], attributes)


_SPECIAL: Mapping[str, Callable[[Operation, list[ty.dtype], Widening], Typed]] = {
    "cast": _cast, "round_tf32": _tf32, "dot": _dot, "libdevice": _libdevice,
    **dict.fromkeys(_POINTEE, _memory),
}  # fmt: skip


def types_of(function: Function, how: Widening) -> Types:
    """The type of every value. Raises NotWidened."""
    types: Types = {}
    for parameter in function.parameters:
        kind = parameter.type.scalar
        element = how.memory.get(parameter.name)
        types[parameter] = kind if element is None else ty.pointer_type(element)
    _go_over(function.body, types, how)
    return types


def _go_over(region: Region, types: Types, how: Widening) -> list[ty.dtype]:
    """The types of what the region's terminator passes on."""
    for operation in region.operations[:-1]:
        kinds = [types[v] for v in operation.operands]
        if operation.name == "call":
            raise NotWidened("a function is kept as a call")
        if operation.regions:
            found: Sequence[ty.dtype] = _STRUCTURED[operation.name](operation, kinds, types, how)
        else:
            found = typed(operation, kinds, how).results
        types.update(zip(operation.results, found, strict=True))
    return [types[v] for v in region.terminator.operands]


def _joined(a: Sequence[ty.dtype], b: Sequence[ty.dtype]) -> list[ty.dtype]:
    made = []
    for x, y in zip(a, b, strict=True):
        if x is not y and not (is_float(x) and is_float(y)):
            raise NotWidened("a pointer may lead to arrays of two formats")
        made.append(x if x is y else promoted([x, y]))
    return made


def _if(operation: Operation, kinds: list[ty.dtype], types: Types, how: Widening) -> Any:
    first, *rest = [_go_over(region, types, how) for region in operation.regions]
    for found in rest:
        first = _joined(first, found)
    return first


def _for(operation: Operation, kinds: list[ty.dtype], types: Types, how: Widening) -> Any:
    (body,) = operation.regions
    types[body.arguments[0]] = body.arguments[0].type.scalar
    carried = kinds[3:]
    while True:
        types.update(zip(body.arguments[1:], carried, strict=True))
        found = _joined(carried, _go_over(body, types, how))
        if found == carried:
            return carried
        carried = found


def _while(operation: Operation, kinds: list[ty.dtype], types: Types, how: Widening) -> Any:
    test, body = operation.regions
    carried = kinds
    while True:
        types.update(zip(test.arguments, carried, strict=True))
        _, *passed = _go_over(test, types, how)
        types.update(zip(body.arguments, passed, strict=True))
        found = _joined(carried, _go_over(body, types, how))
        if found == carried:
            return passed
        carried = found


_STRUCTURED: Mapping[str, Any] = {"if": _if, "for": _for, "while": _while}

__all__ = [
    "NotWidened", "Typed", "Types", "Widening", "is_float", "promoted", "rank", "typed",
    "types_of", "wider",
]  # fmt: skip

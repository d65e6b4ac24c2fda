"""The decisions of a kernel about formats: where it rounds to a format narrower than it could.

Found in the block IR. Each is a set of operations whose rounding is one choice of the source: a
running sum in float16, the float16 of a result, a conversion, the arithmetic of a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from blockstep.findings import Span
from blockstep.interp.grid.plan import reached
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.op import Family
from blockstep.runtime.whatif.widening import Widening, is_float, rank


class What(Enum):
    """What is decided."""

    TF32 = "factors read as tf32"
    RUNNING = "a sum that a loop carries"
    PRODUCT = "the sum of a product of matrices"
    REDUCTION = "a sum over a block"
    CONVERSION = "a conversion to a narrower format"
    OUTPUT = "the format of an array"
    ATOMIC = "atomics on an array of a narrow format"
    ARITHMETIC = "arithmetic of a line"
    FAST = "fast code"


@dataclass(slots=True, eq=False)
class Decision:
    """One decision: at `span`, for values of `kind`; `name` is the variable or array that it is
    about, `function` the operation's name; `how` switches it off, and `arrays` have wider memory."""

    what: What
    span: Span
    kind: ty.dtype
    name: str = ""
    function: str = ""
    how: Widening = field(default_factory=Widening)
    arrays: tuple[str, ...] = ()


_NO_ROUNDING = frozenset(
    {"constant", "minimum", "maximum", "clamp", "fabs", "floor", "ceil", "hint", "bitcast", "load",
     "select", "asm", "asm_packed", "dot_scaled"}
)  # fmt: skip
_ATOMICS = frozenset({"atomic_rmw", "atomic_cas"})


def decisions(function: Function) -> list[Decision]:
    """All decisions of a function; those on narrow formats come first."""
    operations = [o for o in function.walk() if o.location is not None]
    taken: set[Operation] = set()
    found = [*_tf32(operations), *_running(operations, taken), *_outputs(operations, taken)]
    found += _each(operations, taken)
    return sorted(found, key=lambda d: (d.what is What.ARITHMETIC, rank(d.kind)))


def _result(operation: Operation) -> ty.dtype | None:
    kinds = [r.type.scalar for r in operation.results]
    return next((k for k in kinds if is_float(k)), None)


def _narrow(operation: Operation) -> bool:
    kind = _result(operation)
    return kind is not None and rank(kind) < 2


def _span(operation: Operation) -> Span:
    assert operation.location is not None
    return operation.location.span


def _tf32(operations: Iterable[Operation]) -> Iterator[Decision]:
    for span, group in _by_span(o for o in operations if _reads_tf32(o)):
        how = Widening(ieee=frozenset(group))
        text = group[0].attributes["precision"]
        yield Decision(What.TF32, span, ty.float32, function=text, how=how)


def _reads_tf32(operation: Operation) -> bool:
    return (
        operation.name == "dot"
        and operation.operands[0].type.scalar is ty.float32
        and operation.attributes["precision"] != "ieee"
    )


def _running(operations: Iterable[Operation], taken: set[Operation]) -> Iterator[Decision]:
    """What a loop carries in a narrow format, with the operations that lead around."""
    for loop in operations:
        if loop.name not in ("for", "while"):
            continue
        for argument, end, result in _carried(loop):
            kind = argument.type.scalar
            if not is_float(kind) or rank(kind) > 1:
                continue
            around = _around(argument, end)
            if not around:
                continue
            group = around | _added(around)
            taken |= group
            last = end.producer
            place = last if last is not None and last.location is not None else loop
            name = argument.name or result.name
            how = Widening(operations=frozenset(group))
            yield Decision(What.RUNNING, _span(place), kind, name, how=how)


def _carried(loop: Operation) -> Iterator[tuple[Value, Value, Value]]:
    """Each carried value: as the body finds it, as it leaves it, and after the loop."""
    if loop.name == "for":
        (body,) = loop.regions
        ends = body.terminator.operands
        yield from zip(body.arguments[1:], ends, loop.results, strict=True)
        return
    test, body = loop.regions
    passed = test.terminator.operands[1:]
    for at, argument in enumerate(body.arguments):
        if at < len(test.arguments) and passed[at] is test.arguments[at]:
            yield argument, body.terminator.operands[at], loop.results[at]


def _around(argument: Value, end: Value) -> set[Operation]:
    """The rounding operations between what a turn begins with and what it ends with."""
    reaching: dict[Value, bool] = {}

    def reaches(value: Value) -> bool:
        if value is argument:
            return True
        if value not in reaching:
            reaching[value] = False
            owner = value.producer
            reaching[value] = owner is not None and any(list(map(reaches, _before(owner))))
        return reaching[value]

    if not reaches(end):
        return set()
    owners = {v.producer for v, yes in reaching.items() if yes}
    return {o for o in owners if o is not None and _narrow(o) and o.name not in _NO_ROUNDING}


def _before(operation: Operation) -> list[Value]:
    inner = [v for region in operation.regions for v in _leaving(region)]
    return [*operation.operands, *inner]


def _leaving(region: Region) -> list[Value]:
    return region.terminator.operands


def _added(around: set[Operation]) -> set[Operation]:
    """What is added to a running sum is in its format because the sum is: conversions to it, and
    products of matrices in it."""
    owners = [v.producer for o in around for v in o.operands if len(v.uses) == 1]
    return {
        o for o in owners if o is not None and _narrow(o) and (o.name == "dot" or _is_narrowing(o))
    }


def _outputs(operations: list[Operation], taken: set[Operation]) -> Iterator[Decision]:
    """Arrays of narrow formats, with what is made in them for the sake of a store alone."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.name == "store" or operation.name in _ATOMICS:
            element = operation.operands[0].type.scalar.element_ty  # type: ignore[attr-defined]
            names = reached([operation]) if is_float(element) and rank(element) < 2 else None
            for name in names or ():
                groups.setdefault(name, []).append(operation)
    for name, group in groups.items():
        made = {o for store in group for v in store.operands[1:] for o in _only_for(v)}
        taken |= {o for o in made if _is_narrowing(o)}
        atomic = any(o.name in _ATOMICS for o in group)
        element = group[0].operands[0].type.scalar.element_ty  # type: ignore[attr-defined]
        yield Decision(
            What.ATOMIC if atomic else What.OUTPUT, _span(group[0]), element, name,
            how=Widening(operations=frozenset(made)), arrays=(name,),
        )  # fmt: skip


def _only_for(value: Value) -> Iterator[Operation]:
    """The operation that rounds to a value's format, if nothing else uses it."""
    owner = value.producer
    if owner is not None and _narrow(owner) and len(value.uses) == 1:
        yield owner


def _is_narrowing(operation: Operation) -> bool:
    if operation.name == "round_tf32":
        return True
    if operation.name != "cast" or not _narrow(operation):
        return False
    source, target = operation.operands[0].type.scalar, operation.results[0].type.scalar
    return not is_float(source) or rank(source) >= rank(target)


def _each(operations: Iterable[Operation], taken: set[Operation]) -> Iterator[Decision]:
    """Conversions, products, sums and lines of arithmetic, each at its place."""
    lines: dict[tuple[str, int, ty.dtype], list[Operation]] = {}
    groups: dict[What, list[Operation]] = {}
    for operation in operations:
        kind = _result(operation)
        if kind is None or kind is ty.float64 or operation in taken:
            continue
        what = _what(operation)
        if what is What.ARITHMETIC:
            span = _span(operation)
            lines.setdefault((span.file, span.line, kind), []).append(operation)
        elif what is not None:
            groups.setdefault(what, []).append(operation)
    for what, group in groups.items():
        for span, alike in _by_span(group):
            yield _decision(what, span, alike)
    for group in lines.values():
        yield _decision(What.ARITHMETIC, _span(_widest(group)), group)


def _decision(what: What, span: Span, group: list[Operation]) -> Decision:
    kind = _result(group[-1])
    assert kind is not None
    last = group[-1]
    source = last.operands[0].name if last.operands else ""
    name = source if what is not What.ARITHMETIC else last.results[0].name
    return Decision(what, span, kind, name, last.name, Widening(operations=frozenset(group)))


def _what(operation: Operation) -> What | None:
    if _is_narrowing(operation):
        return What.CONVERSION
    if operation.name in _NO_ROUNDING or operation.name == "cast" and not _from_integer(operation):
        return None
    family = operation.op.family
    if family is Family.DOT:
        return None if _reads_tf32(operation) else What.PRODUCT
    if family in (Family.REDUCE, Family.SCAN):
        return What.REDUCTION if _rounds(operation) else None
    return What.ARITHMETIC if family is Family.ELEMENTWISE else None


def _from_integer(operation: Operation) -> bool:
    return not is_float(operation.operands[0].type.scalar)


def _rounds(operation: Operation) -> bool:
    """Whether combining two elements rounds (a maximum does not)."""
    names = {o.op.name for o in operation.attributes["region"].operations}
    return bool(names - {"minimum", "maximum", "select", "lt", "le", "gt", "ge", "eq", "ne", "and",
                         "or", "xor"})  # fmt: skip


def _widest(group: list[Operation]) -> Operation:
    """The one whose source is the longest: it holds the others'."""
    return max(group, key=lambda o: (_span(o).end_line, _span(o).end_column - _span(o).column))


def _by_span(operations: Iterable[Operation]) -> Iterator[tuple[Span, list[Operation]]]:
    groups: dict[Span, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(_span(operation), []).append(operation)
    yield from groups.items()


__all__ = ["Decision", "What", "decisions"]

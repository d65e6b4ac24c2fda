"""Structured control flow as basic blocks. Conditions and bounds are scalars, so every lane of the CTA
takes the same way."""

from __future__ import annotations

from collections.abc import Callable

from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered, lowers
from blockstep.compiler.lower.text import Item, Phi
from blockstep.ir import Operation, Region, Value


def region(lw: Lowering, body: Region) -> Operation:
    """Lowers the operations of a region, in order; returns its terminator, not lowered."""
    for operation in body.operations[:-1]:
        one(lw, operation)
    return body.terminator


def one(lw: Lowering, operation: Operation) -> None:
    """Lowers one operation."""
    lw.at(operation)
    known = LOWERINGS.get(operation.name)
    try:
        if known is not None:
            known(lw, operation)
        elif operation.name in RULES:
            _elementwise(lw, operation)
        else:
            raise Unlowered(f"`{operation.name}` has no lowering")
    except Unlowered as unlowered:
        if unlowered.operation is None:
            unlowered.operation = operation
        raise


def _elementwise(lw: Lowering, operation: Operation) -> None:
    """Of registers that hold the same number, one is computed."""
    kinds = [r.type.scalar for r in operation.results]
    items = lw.operands(operation)
    run = min(r.run for r in operation.results)
    count = lw.count(operation.results[0])
    if run > 1 and count is not None:
        items = [i if i.count is None else lw.pick(i, range(0, count, run)) for i in items]
    found = lw.compute(operation.name, operation.attributes, kinds, items)
    if run > 1 and count is not None:
        found = tuple(lw.pick(item, [r // run for r in range(count)]) for item in found)
    lw.results(operation, found)


def _values(lw: Lowering, values: list[Value]) -> list[Item]:
    return [lw[v] for v in values]


@lowers("if")
def _if(lw: Lowering, operation: Operation) -> None:
    b = lw.b
    names = b.name("then"), b.name("else"), b.name("endif")
    condition = lw[operation.operands[0]].name
    b.choose(condition, names[0], names[1])
    ends = []
    for label, body in zip(names, operation.regions, strict=False):
        b.label(label)
        last = region(lw, body)
        ends.append((_values(lw, last.operands), b.block))
        b.branch(names[2])
    b.label(names[2])
    for i, result in enumerate(operation.results):
        phi = b.phi(lw.type_of(result))
        for items, block in ends:
            phi.add(items[i].name, block)
        lw.bind(result, phi.name)


@lowers("for")
def _for(lw: Lowering, operation: Operation) -> None:
    """A test before the loop and one at its end: the body is one block where it has no control
    flow of its own."""
    b = lw.b
    (body,) = operation.regions
    lower, upper, step, *carried = _values(lw, operation.operands)
    goes_on = _loop_test(lw, operation)
    names = b.name("loop"), b.name("done")
    ends = body.terminator.operands
    used = [_carried(lw, *one) for one in zip(body.arguments[1:], carried, ends, strict=True)]
    given = [_split(lw, item, kept) for item, kept in zip(carried, used, strict=True)]
    before = b.block
    b.choose(goes_on(lower.name), names[0], names[1])
    b.label(names[0])
    index = b.phi(lw.type_of(body.arguments[0]))
    index.add(lower.name, before)
    lw.bind(body.arguments[0], index.name)
    parts = list(zip(carried, given, used, strict=True))
    phis = [_phis(lw, *one, before) for one in parts]
    arguments = body.arguments[1:]
    for argument, item, held, kept in zip(arguments, carried, phis, used, strict=True):
        lw.bind(argument, _joined(lw, item, held, kept))
    last = region(lw, body)
    found = _values(lw, last.operands)
    yielded = [_split(lw, item, kept) for item, kept in zip(found, used, strict=True)]
    following = b.value(f"add {lw.type_of(body.arguments[0])} {index.name}, {step.name}")
    test = goes_on(following)
    after = b.block
    b.choose(test, names[0], names[1])
    index.add(following, after)
    for held, ended in zip(phis, yielded, strict=True):
        _add(held, ended, after)
    b.label(names[1])
    left = [_phis(lw, *one, before) for one in parts]
    for held, ended in zip(left, yielded, strict=True):
        _add(held, ended, after)
    for result, item, held, kept in zip(operation.results, carried, left, used, strict=True):
        lw.bind(result, _joined(lw, item, held, kept))


def _carried(lw: Lowering, argument: Value, item: Item, end: Value) -> list[int] | None:
    """Which elements of a value go round a loop, each in a phi of its own; None: the value as it is.

    Of integers and pointers those that anybody uses: of neighbours, the first address. The sums of
    a product are made of single registers, and a vector would only be built to be taken apart."""
    if item.count is None:
        return None
    if not item.kind.is_floating():
        return sorted(lw.demand[argument])
    producer = end.producer
    sums = producer is not None and producer.name in ("dot", "dot_wait")
    return list(range(item.count)) if sums else None


def _split(lw: Lowering, item: Item, used: list[int] | None) -> list[str]:
    """The parts that are carried."""
    if used is None:
        return [item.name]
    parts = lw.parts(item)
    return [parts[r] for r in used]


def _phis(
    lw: Lowering, item: Item, parts: list[str], used: list[int] | None, before: str
) -> list[Phi]:
    """A phi for each part, with its value from the block `before`."""
    kind = item.type if used is None else item.element
    found = [lw.b.phi(kind) for _ in parts]
    _add(found, parts, before)
    return found


def _add(phis: list[Phi], parts: list[str], block: str) -> None:
    for phi, part in zip(phis, parts, strict=True):
        phi.add(part, block)


def _joined(lw: Lowering, item: Item, phis: list[Phi], used: list[int] | None) -> Item:
    """The value again, behind the phis; nobody looks at the registers that were not carried."""
    if used is None:
        return Item(phis[0].name, item.kind, item.count)
    if len(used) == item.count:
        return lw.join([phi.name for phi in phis], item.kind, item.count)
    name = "poison"
    for phi, register in zip(phis, used, strict=True):
        name = lw.b.value(
            f"insertelement {item.type} {name}, {item.element} {phi.name}, i32 {register}"
        )
    return Item(name, item.kind, item.count)


def _loop_test(lw: Lowering, operation: Operation) -> Callable[[str], str]:
    """Whether the loop goes on with an index: below the upper bound, or above it for a step below
    zero."""
    upper, step = lw[operation.operands[1]], lw[operation.operands[2]]
    signed = operation.operands[0].type.is_int_signed()
    less, more = ("slt", "sgt") if signed else ("ult", "ugt")
    t = upper.type
    constant = step.name.lstrip("-").isdigit()
    if constant or not signed:
        name = less if not constant or int(step.name) > 0 else more
        return lambda index: lw.b.value(f"icmp {name} {t} {index}, {upper.name}")
    negative = lw.b.value(f"icmp slt {step}, 0")

    def test(index: str) -> str:
        below = lw.b.value(f"icmp slt {t} {index}, {upper.name}")
        above = lw.b.value(f"icmp sgt {t} {index}, {upper.name}")
        return lw.b.value(f"select i1 {negative}, i1 {above}, i1 {below}")

    return test


@lowers("while")
def _while(lw: Lowering, operation: Operation) -> None:
    b = lw.b
    test, body = operation.regions
    names = b.name("while"), b.name("do"), b.name("endwhile")
    before = b.block
    b.branch(names[0])
    b.label(names[0])
    phis = []
    for argument, item in zip(test.arguments, _values(lw, operation.operands), strict=True):
        phi = b.phi(lw.type_of(argument))
        phi.add(item.name, before)
        lw.bind(argument, phi.name)
        phis.append(phi)
    last = region(lw, test)
    condition, *passed = _values(lw, last.operands)
    b.choose(condition.name, names[1], names[2])
    b.label(names[1])
    for argument, item in zip(body.arguments, passed, strict=True):
        lw.bind(argument, item)
    again = region(lw, body)
    for phi, item in zip(phis, _values(lw, again.operands), strict=True):
        phi.add(item.name, b.block)
    b.branch(names[0])
    b.label(names[2])
    for result, item in zip(operation.results, passed, strict=True):
        lw.bind(result, item)


@lowers("return")
def _return(lw: Lowering, operation: Operation) -> None:
    lw.b.effect("ret void")


@lowers("barrier")
def _barrier(lw: Lowering, operation: Operation) -> None:
    lw.barrier()


@lowers("assume")
def _assume(lw: Lowering, operation: Operation) -> None:
    (condition,) = lw.operands(operation)
    if condition.count is None:
        lw.b.call("void", "llvm.assume", [str(condition)])

"""Structured control flow as basic blocks. Conditions and bounds are scalars, so every lane of the CTA
takes the same way."""

from __future__ import annotations

from collections.abc import Sequence

from blockstep.compiler.lower.core import LOWERINGS, RULES, Lowering, Unlowered, lowers
from blockstep.compiler.lower.text import Item, Phi, scalar_type
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
    kind = body.arguments[0].type
    goes_on = _loop_test(lw, operation, kind)
    names = b.name("loop"), b.name("done")
    split = [_is_sum(value) for value in body.terminator.operands]
    first = [_sources(lw, *one) for one in zip(carried, split, strict=True)]
    before = b.block
    b.choose(goes_on(lower.name), names[0], names[1])
    b.label(names[0])
    index = b.phi(lw.type_of(body.arguments[0]))
    index.add(lower.name, before)
    lw.bind(body.arguments[0], index.name)
    phis = _merge(lw, body.arguments[1:], split, first, before)
    last = region(lw, body)
    yielded = _values(lw, last.operands)
    following = b.value(f"add {lw.type_of(body.arguments[0])} {index.name}, {step.name}")
    test = goes_on(following)
    again = [_sources(lw, *one) for one in zip(yielded, split, strict=True)]
    after = b.block
    b.choose(test, names[0], names[1])
    index.add(following, after)
    _add(phis, again, after)
    b.label(names[1])
    _add(_merge(lw, operation.results, split, first, before), again, after)


def _is_sum(value: Value) -> bool:
    """Whether a block is made of single registers, as the sums of a product are: it goes round a
    loop in as many phis, since a vector would only be built to be taken apart."""
    producer = value.producer
    return producer is not None and producer.name in ("dot", "dot_wait")


def _sources(lw: Lowering, item: Item, split: bool) -> list[str]:
    """What the phis of a block get from the basic block that ends here."""
    return lw.parts(item) if split else [item.name]


def _merge(
    lw: Lowering, values: Sequence[Value], split: Sequence[bool], sources: Sequence[list[str]],
    block: str,
) -> list[list[Phi]]:  # fmt: skip
    """Phis of all values at the start of a basic block, with what comes from `block`."""
    found = []
    for value, by_element, names in zip(values, split, sources, strict=True):
        kind = scalar_type(value.type) if by_element else lw.type_of(value)
        found.append([lw.b.phi(kind) for _ in names])
    _add(found, sources, block)
    for value, by_element, phis in zip(values, split, found, strict=True):
        names = [phi.name for phi in phis]
        lw.bind(value, lw.join(names, value.type, lw.count(value)) if by_element else names[0])
    return found


def _add(phis: Sequence[list[Phi]], sources: Sequence[list[str]], block: str) -> None:
    for ones, names in zip(phis, sources, strict=True):
        for phi, name in zip(ones, names, strict=True):
            phi.add(name, block)


def _loop_test(lw: Lowering, operation: Operation, kind: object) -> object:
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

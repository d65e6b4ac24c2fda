"""Wording of what goes wrong between accesses: races, overlaps, orders, deadlocks."""

from __future__ import annotations

import ast

from blockstep.diagnostics import source
from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    element_text,
    elements_text,
    index_text,
    kept,
    listed,
    plural,
    program_text,
    quoted,
    who,
)
from blockstep.findings import (
    Argument,
    Deadlock,
    LanesDisagree,
    OrderDependent,
    Party,
    RaceFound,
    ReadBack,
    StoresOverlap,
    Touch,
    Waiter,
)

UNORDERED = (
    "program instances of one launch are unordered; "
    "only an atomic with acquire/release semantics links them"
)


def race(event: RaceFound) -> Words:
    """Two program instances, one element, no order."""
    first, second = event.first, event.second
    return Words(
        message=_race_title(event),
        label=f"(2) {_touch(second, event.argument)}",
        facts=kept(_race_fact(event), _why(event)),
        help=kept(_race_help(event)),
        notes=kept(f"seen with --seed {event.seed}" if event.seed else ""),
        related=(_party(f"(1) {_touch(first, event.argument)}", first, event.argument),),
        argument=event.argument,
        elements=second.elements,
        count=max(second.count, len(second.elements)),
        details={"race": event.race_class, "same_value": event.same_value, "why": event.why},
    )


def _touch(touch: Touch, argument: Argument | None) -> str:
    sem = f" ({touch.sem})" if touch.sem and touch.word == "atomic" else ""
    what = elements_text(argument.name if argument else None, touch.elements, touch.count)
    word = touch.op if touch.word == "atomic" else touch.word
    return f"{word}{sem} of {what} by {program_text(touch.program)}"


def _party(label: str, touch: Touch, argument: Argument | None) -> Party:
    name = argument.name if argument else None
    count = max(touch.count, len(touch.elements))
    return Party(label, touch.span, touch.program, name, touch.elements, count)


def _race_title(event: RaceFound) -> str:
    words = {event.first.word, event.second.word}
    name = quoted(event.argument)
    if words == {"write"}:
        same = ", with the same value," if event.same_value else ""
        did = f"is written by two program instances{same or ','}"
    elif "atomic" in words:
        plain = "written" if "write" in words else "read"
        did = f"is updated by an atomic and {plain} by a plain access of another program instance,"
        did = "is updated by two atomics," if words == {"atomic"} else did
    else:
        did = "is read and written by two program instances,"
    return f"{name} {did} and nothing orders them"


def _race_fact(event: RaceFound) -> str:
    count = max(event.second.count, len(event.second.elements))
    where = f" at {plural(count, 'element')}" if count else ""
    same = "; both write the same bytes" if event.same_value else ""
    return argument_fact(event.argument, f"this is a {event.race_class}{where}{same}")


def _why(event: RaceFound) -> str:
    if event.why == "relaxed":
        return "the atomics between them are relaxed, and a relaxed atomic orders nothing else"
    if event.why == "scope":
        return 'the atomics between them have scope="cta", which reaches no other program instance'
    if event.why == "barrier":
        return "a release covers the accesses of a whole block only after a debug_barrier"
    if event.why == "mixed":
        return "an atomic is atomic only towards other atomics, not towards a plain load or store"
    return UNORDERED


def _race_help(event: RaceFound) -> str:
    if event.why == "relaxed":
        return (
            'release after the stores, sem="release", and acquire before the loads, sem="acquire"'
        )
    if event.why == "scope":
        return 'leave scope at its default, "gpu"'
    if event.why == "barrier":
        return "put tl.debug_barrier() before the atomic that releases"
    if event.why == "mixed":
        return (
            "make both accesses atomic: tl.atomic_add(ptr, 0) reads, tl.atomic_xchg(ptr, v) writes"
        )
    in_kernel = event.kernel in ("", event.second.span.function)
    if in_kernel and not source.mentions(event.second.span, "program_id"):
        return "nothing here depends on tl.program_id(0): give each its own elements"
    addition = _as_atomic_add(event)
    if addition:
        return f"{addition}, or give each program instance its own element and add afterwards"
    return "give each program instance its own elements, or order the two with atomics"


def _as_atomic_add(event: RaceFound) -> str:
    """tl.atomic_add(total_ptr, s), for a load, an addition and a store back."""
    node = source.call(event.second.span)
    value = source.argument(node, 1, "value") if node and event.second.word == "write" else None
    if not (node and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)):
        return ""
    loaded = source.target_of(event.first.span) if event.first.word == "read" else ""
    sides = (value.left, value.right)
    others = [s for s in sides if not (isinstance(s, ast.Name) and s.id == loaded)]
    pointer = source.argument(node, 0, "pointer")
    if len(others) != 1 or pointer is None or not isinstance(node.func, ast.Attribute):
        return ""
    module = ast.unparse(node.func.value)
    return f"{module}.atomic_add({ast.unparse(pointer)}, {ast.unparse(others[0])})"


def lanes_disagree(event: LanesDisagree) -> Words:
    """One store, one element, two values."""
    here = element_text(event.argument, event.element)
    one, two = (index_text((lane,)) for lane in event.lanes)
    return Words(
        message=f"this {event.op} writes different values to one element "
        f"of {quoted(event.argument)}",
        label=f"elements {one} and {two} of the block both go to {here}: "
        f"{' and '.join(event.values)}",
        facts=kept(
            who(event),
            "which value stays is not defined",
            f"{plural(event.count, 'element')} of {quoted(event.argument)} "
            f"{'is' if event.count == 1 else 'are'} written more than once",
        ),
        help=(_scatter_help(event),),
        argument=event.argument,
        elements=(event.element,),
        count=event.count,
        details={"lanes": event.lanes},
    )


def _scatter_help(event: LanesDisagree) -> str:
    node = source.call(event.span)
    if node and len(node.args) > 1 and isinstance(node.func, ast.Attribute):
        texts = ", ".join(ast.unparse(a) for a in node.args)
        module = ast.unparse(node.func.value)
        return f"to add them up:  {module}.atomic_add({texts}); else make the offsets distinct"
    return "make the offsets distinct, or mask all but one"


def stores_overlap(event: StoresOverlap) -> Words:
    """Two stores of one program instance to one element."""
    name = quoted(event.argument)
    return Words(
        message=f"two stores of one program instance write different values to {name}, "
        "and nothing orders them",
        label=f"(2) {_value(event.second, event.argument)}",
        facts=kept(
            who(event),
            "the threads behind a block are not in step: either store may come last",
        ),
        help=("put tl.debug_barrier() between them, or mask the first where the second writes",),
        related=(
            _party(f"(1) {_value(event.first, event.argument)}", event.first, event.argument),
        ),
        argument=event.argument,
        elements=event.second.elements,
        count=max(event.second.count, len(event.second.elements)),
    )


def _value(touch: Touch, argument: Argument | None) -> str:
    what = elements_text(argument.name if argument else None, touch.elements, touch.count)
    value = f": {touch.value}" if touch.value else ""
    return f"{touch.word} of {what}{value}"


def read_back(event: ReadBack) -> Words:
    """A store and a load in one program instance, at other offsets."""
    first, second = event.first, event.second
    name = quoted(event.argument)
    before = "read from" if first.word == "read" else "stored to"
    did = "reads back" if second.word == "read" else "writes over"
    return Words(
        message=f"this {second.op} {did} what the same program instance {before} {name}, "
        "with no barrier between",
        label=f"(2) {_value(second, event.argument)}",
        facts=kept(
            who(event),
            "the two go through different offsets or masks, so another thread may hold the element",
        ),
        help=("put tl.debug_barrier() between them, or keep the value in a variable",),
        notes=("blockstep orders the two; Triton's compiled code may not",),
        related=(_party(f"(1) {_value(first, event.argument)}", first, event.argument),),
        argument=event.argument,
        elements=second.elements,
        count=max(second.count, len(second.elements)),
    )


def order_dependent(event: OrderDependent) -> Words:
    """Outputs that differ from seed to seed."""
    outputs = listed([f"`{o.name}`" for o in event.outputs])
    first = event.outputs[0] if event.outputs else None
    values = ""
    if first and len(event.values) > 1:
        values = f"{element_text(first, event.element)} is {' or '.join(event.values)}"
    differing = len(event.differing)
    rounding = "they differ by rounding only: a sum of floats in another order"
    seed = event.differing[0] if event.differing else 0
    return Words(
        message=f"{outputs} {'depends' if len(event.outputs) == 1 else 'depend'} "
        "on the order of program instances",
        label=f"{differing} of {event.seeds} seeds "
        f"{'ends' if differing == 1 else 'end'} with another value",
        facts=kept(values, rounding if event.differs_by_rounding else ""),
        help=(
            "let each program instance write its own elements and combine them in a second launch",
        ),
        notes=(f"--seed {seed} gives a result that --seed 0 does not",) if event.differing else (),
        argument=first,
        elements=(event.element,) if event.element else (),
        details={"outputs": [o.name for o in event.outputs], "differing": list(event.differing)},
    )


def deadlock(event: Deadlock) -> Words:
    """Everybody left waits."""
    head = event.waiters[0] if event.waiters else None
    rest = tuple(
        Party(f"{program_text(w.program)} waits for {_awaited(w)}", w.span, w.program, w.argument)
        for w in event.waiters[1:4]
        if head is None or w.span != head.span
    )
    same = [w for w in event.waiters[1:4] if head is not None and w.span == head.span]
    more = event.waiting - len(event.waiters[:4])
    counts = f"{event.finished} finished, {event.waiting} waiting, {event.not_started} not started"
    return Words(
        message=f"{plural(event.waiting, 'program instance')} "
        f"{'waits' if event.waiting == 1 else 'wait'} for what no other will do",
        label=f"{program_text(head.program)} waits for {_awaited(head)}" if head else "",
        facts=kept(
            *(f"{program_text(w.program)} waits here too, for {_awaited(w)}" for w in same),
            f"{plural(more, 'more program instance')} waiting" if more > 0 else "",
            f"of the launch: {counts}",
            f"after {event.steps} turns each without a change" if event.steps else "",
        ),
        help=("see that every path sets the flag, and that every path gives the lock back",),
        related=rest,
        details={"waiting": event.waiting, "finished": event.finished},
    )


def _awaited(waiter: Waiter) -> str:
    what = element_text(waiter.argument, waiter.element or ())
    return f"{what}, which stays {waiter.seen}" if waiter.seen is not None else what

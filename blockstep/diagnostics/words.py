"""The small change of wording: plurals, elements, program instances, lanes of a block, arguments.

Invariant: `Words` is what one event has to say; `describe` adds who and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from blockstep.findings import Argument, Element, Event, Lanes, Party, Program


@dataclass(frozen=True, slots=True)
class Words:
    """Everything an event says that depends on its kind."""

    message: str
    label: str = ""
    facts: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    related: tuple[Party, ...] = ()
    argument: Argument | None = None
    elements: tuple[Element, ...] = ()
    count: int = 0
    details: Mapping[str, object] = field(default_factory=dict)


def plural(count: int, noun: str) -> str:
    """1 element, 2 elements."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def kept(*texts: str) -> tuple[str, ...]:
    """The texts that say something."""
    return tuple(text for text in texts if text)


def listed(texts: Sequence[str], most: int = 4) -> str:
    """a, b and c; past `most`, the rest is counted."""
    if len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join(kept(", ".join(texts[:-1]), *texts[-1:]))


def triple(program: Program) -> str:
    """(7, 0, 0), also when a checker counts in NumPy integers."""
    return f"({', '.join(map(str, program))})"


def program_text(program: Program | None) -> str:
    """program instance (7, 0, 0)."""
    return f"program instance {triple(program)}" if program is not None else "a program instance"


def who(event: Event, more: str = "") -> str:
    """program instance (7, 0, 0) of grid (8, 1, 1); and more."""
    if event.program is None:
        return more
    grid = f" of grid {triple(event.grid)}" if event.grid is not None else ""
    return f"{program_text(event.program)}{grid}" + (f"; {more}" if more else "")


def quoted(argument: Argument | None) -> str:
    """`x`, or what to say when nobody knows the argument."""
    return f"`{argument.name}`" if argument else "memory"


def element_text(argument: Argument | str | None, element: Element) -> str:
    """x[3, 17]."""
    name = argument.name if isinstance(argument, Argument) else argument or "memory"
    return f"{name}[{', '.join(map(str, element))}]" if element else name


def elements_text(argument: Argument | str | None, elements: Sequence[Element], count: int) -> str:
    """x[3], or x[3] and 4 more elements."""
    if not elements:
        return quoted(argument) if isinstance(argument, Argument) else argument or "memory"
    more = max(count, len(elements)) - 1
    first = element_text(argument, elements[0])
    return f"{first} and {plural(more, 'more element')}" if more else first


def range_text(low: int, high: int) -> str:
    """896..1023, or one number."""
    return str(low) if low == high else f"{low}..{high}"


def lanes_text(lanes: Lanes) -> str:
    """elements 104..127 of 128; empty for a scalar."""
    if not lanes.shape:
        return ""
    if lanes.count == lanes.total:
        return f"all {plural(lanes.total, 'element')}" if lanes.total > 1 else "its only element"
    if not lanes.is_box:
        return f"{lanes.count} of {lanes.total} elements ({_some(lanes)})"
    noun = "element" if lanes.count == 1 else "elements"
    if len(lanes.shape) == 1:
        return f"{noun} {range_text(*lanes.box[0])} of {lanes.total}"
    box = ", ".join(range_text(*side) for side in lanes.box)
    return f"{noun} [{box}] of {list(lanes.shape)}"


def _some(lanes: Lanes) -> str:
    shown = [index_text((position,)) for position in lanes.first[:3]]
    return ", ".join(shown) + (", ..." if lanes.count > len(shown) else "")


def index_text(positions: Sequence[Element]) -> str:
    """3, or [3, 17]: the first of some positions in a block."""
    first = positions[0] if positions else ()
    text = ", ".join(map(str, first))
    return text if len(first) == 1 else f"[{text}]"


def lanes_are(lanes: Lanes, what: str, scalar: str) -> str:
    """elements 104..127 of 128 are <what>; for a scalar block, `scalar`."""
    text = lanes_text(lanes)
    if not text:
        return scalar
    return f"{text} {'is' if lanes.count == 1 else 'are'} {what}"


def argument_fact(argument: Argument | None, more: str = "") -> str:
    """`x` is float32[1000]; and more. Strides are shown where the shape does not imply them."""
    if argument is None:
        return more
    strides = "" if _is_packed(argument) else f" with strides {tuple(argument.strides)}"
    kind = f" is {argument.type_text}{strides}" if argument.type_text else ""
    if not kind:
        return more
    return f"`{argument.name}`{kind}" + (f"; {more}" if more else "")


def _is_packed(argument: Argument) -> bool:
    step = 1
    for size, stride in zip(reversed(argument.shape), reversed(argument.strides), strict=False):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def extent(argument: Argument) -> int:
    """Elements from the first to one past the last that the strides reach."""
    pairs = zip(argument.shape, argument.strides, strict=False)
    return 0 if 0 in argument.shape else 1 + sum((n - 1) * max(s, 0) for n, s in pairs)


def is_forward(argument: Argument) -> bool:
    """Whether no stride is negative, so that one bound is enough."""
    return all(stride >= 0 for stride in argument.strides)


def op_text(op: str) -> str:
    """this load, this store, this atomic_add."""
    return f"this {op}"


def verb(op: str) -> str:
    """reads, writes or updates."""
    if op.startswith("atomic"):
        return "updates"
    return "writes" if "store" in op else "reads"

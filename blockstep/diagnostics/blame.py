"""The words of `blame` and `who`: source lines with values, numbered, the nearest first.

What stands on one line of source (and in one turn of its loops) is one entry, however many operations
it is made of; an entry names the entries that its value came from.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from blockstep.diagnostics.blamed import Entry, entries, name_of, value_text
from blockstep.diagnostics.source import line_text, place
from blockstep.diagnostics.words import index_text, listed, plural, triple
from blockstep.findings import Program, Span
from blockstep.findings.blame import Accesses, Chain, ElementAccess, Link

WIDTH = 80
MOST_LINES = 25
MOST_ACCESSES = 20
_NAMED = 4  # operands that an entry names

_NOTES = {
    "host": "as the host passed it",
    "masked": "the load's mask is off: the fill value",
    "undefined": "the load's mask is off and there is no fill value: undefined",
    "skipped": "not read: outside of its argument",
    "more": "followed no further",
}


def blame_text(chain: Chain, lines: int = MOST_LINES, width: int = WIDTH) -> str:
    """Who wrote an element last, and where its value came from, in at most about `lines` lines."""
    name = _element(chain.argument, chain.index)
    out = [*_wrapped(f"{name} = {value_text(chain.value)}{_by(chain)}", "", width)]
    out += _ended(chain.error, width)
    if chain.program is None:
        return "\n".join(out)
    for most in range(max(1, lines // 2), 0, -1):
        found, left = entries(chain.head, most)
        numbers = {id(e.link): k for k, e in enumerate(found, 1)}
        body = [line for e in found for line in _entry(e, numbers, chain.program, width)]
        if left:
            body.append(f"     {plural(left, 'more line')} behind these")
        if len(out) + len(body) <= lines:
            break
    return "\n".join([*out, *body])


def _ended(error: str, width: int) -> list[str]:
    return _wrapped(f"the kernel ended in {error}; until then:", "", width) if error else []


def _by(chain: Chain) -> str:
    if chain.program is not None and not _left_there(chain.head):
        return f", a value of program instance {triple(chain.program)}"
    if chain.program is not None:
        return f", written last by program instance {triple(chain.program)}"
    if chain.head.op in ("argument", "constant", "turn"):
        return ""
    if chain.head.note == "more":
        return ", written by this launch"
    return f", {_NOTES['host']}: this launch does not write it"


def _entry(entry: Entry, numbers: dict[int, int], program: Program | None, width: int) -> list[str]:
    """A line of source, and below it what it gave and from what."""
    number, span = numbers[id(entry.link)], entry.link.span
    head = f"{number:3} "
    if span is not None:
        head += f" {_short(span)}  {line_text(span.file, span.line).strip()}"
    text = f"{_value(entry.link)}{_where(entry, program)}{_from(entry, numbers)}"
    return [_cut(head, width), *_wrapped(text, "       ", width)]


def _value(link: Link) -> str:
    """y[5] = 0.25, or x_ptr[3, 5] = 0.25 for what a store left."""
    if link.place is not None and _left_there(link):
        return f"{_element(link.place.argument, link.place.index)} = {value_text(link.value)}"
    return f"{_element(name_of(link), link.element)} = {value_text(link.value)}"


def _left_there(link: Link) -> bool:
    """Whether it is what a store or an atomic left, not what an atomic or a load gave back."""
    writes = link.op == "store" or link.op.startswith("atomic_")
    return writes and "memory" not in link.roles and link.note != "host" and link.op != "atomic_rmw"


def _where(entry: Entry, program: Program | None) -> str:
    link = entry.link
    said = []
    for turn in link.turns:
        variable = "" if turn.value in (None, turn.number) else f" ({turn.value})"
        said.append(f"iteration {turn.number}{variable}")
    if link.callers and link.span is not None:
        said.append(f"{link.span.function}, called at {_short(link.callers[0])}")
    if link.program != program and link.program is not None:
        said.append(f"program instance {triple(link.program)}")
    return f", in {listed(said)}" if said else ""


def _from(entry: Entry, numbers: dict[int, int]) -> str:
    """What the value came from, in the order of weight."""
    link, reads = entry.link, []
    parts = _notes(link, "")
    if link.op == "load" and link.place is not None:
        parts.insert(0, f"read from {_element(link.place.argument, link.place.index)}")
    for part in (link, *entry.inner):
        if part is not link:
            parts += _notes(part, f" by `{part.op}`")
            if part.place is not None and part.note == "host":
                reads.append(_read(part))
        if part.took:
            parts.append(_combined(part))
    named = reads + [_operand(x, numbers) for x in entry.operands]
    if len(named) > _NAMED:
        named[_NAMED:] = [f"{len(named) - _NAMED} more"]
    if named:
        parts.append("from " + listed(named, _NAMED + 1))
    return "".join(f"; {part}" for part in dict.fromkeys(parts))


def _notes(link: Link, by: str) -> list[str]:
    """What is to be said of a value itself; `by`: which operation of a line it is."""
    if link.note == "born":
        return [f"{_kind(link)} made here{by}"]
    return [_NOTES[link.note]] if link.note and not (by and link.note == "host") else []


def _read(link: Link) -> str:
    """An element that was read on the way, on the same line."""
    assert link.place is not None
    element = _element(link.place.argument, link.place.index)
    return f"{element} = {value_text(link.value)} (the host's)"


def _combined(link: Link) -> str:
    """the one chosen of 32, or: 32 terms, of which the largest are told."""
    if link.roles and link.roles[0] == "value" and link.left_out == link.took - 1:
        return f"chosen out of {link.took}"
    noun = "product" if "left" in link.roles else "term"
    if link.left_out:
        return f"{plural(link.took, noun)}, {link.left_out} of them left out"
    return plural(link.took, noun)


def _operand(link: Link, numbers: dict[int, int]) -> str:
    if link.op == "argument":
        return f"{link.name} = {value_text(link.value)}"
    if link.op == "turn":
        return f"the loop's variable {value_text(link.value)}"
    number = numbers.get(id(link))
    text = _value(link)
    if link.op == "memory" and link.place is not None:
        text = f"{_element(link.place.argument, link.place.index)} = {value_text(link.value)}"
        said = "the host's" if link.note == "host" else _NOTES.get(link.note)
        text += f" ({said})" if said else ""
    return f"{text} ({number})" if number else text


def _kind(link: Link) -> str:
    return "NaN" if link.value != link.value else "infinity"


def _element(name: str, index: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _short(span: Span) -> str:
    """softmax.py:16."""
    return place(span).rsplit("/", 1)[-1]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    ) or [indent]  # fmt: skip


def who_text(found: Accesses, most: int = MOST_ACCESSES, width: int = WIDTH) -> str:
    """All accesses to an element, a line each; of many the first and the last ones."""
    name = _element(found.argument, found.index)
    ended = _ended(found.error, width)
    if not found.count:
        return "\n".join(
            [*ended, f"{name} = {value_text(found.end)}: this launch does not touch it"]
        )
    what = "1 access" if found.count == 1 else f"{found.count} accesses"
    out = [
        *ended,
        f"{name} = {value_text(found.end)} after {what}; before: {value_text(found.start)}",
    ]
    kept = list(found)
    half = most // 2
    shown = kept if len(kept) <= most and not found.left_out else kept[:half] + kept[-half:]
    for number, access in enumerate(shown):
        if number and access.number != shown[number - 1].number + 1:
            gap = access.number - shown[number - 1].number - 1
            out.append(f"     ... {gap} more")
        out += _wrapped(_access(access, found.argument), "", width)
    return "\n".join(out)


def _access(a: ElementAccess, argument: str) -> str:
    op = a.op if a.sem in (None, "acq_rel") else f"{a.op} {a.sem}"
    text = f"{a.number:4}  {triple(a.program)}  {_short(a.span)}  {op}"
    if a.kind == "read" or not a.wrote:
        text += f"  reads {value_text(a.before)}"
    else:
        text += f"  {value_text(a.before)} -> {value_text(a.after)}"
    if a.lane_count > 1:
        text += f"  {a.lane_count} lanes"
    elif a.lanes and a.lanes[0]:
        text += f"  lane {index_text(a.lanes)}"
    if a.through not in (None, argument):
        text += f"  through {a.through}"
    if a.callers:
        text += f"  from {_short(a.callers[0])}"
    return text


__all__ = ["blame_text", "who_text"]

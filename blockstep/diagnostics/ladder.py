"""Wording of what the ladder finds: a compiler and the source that it compiled disagree."""

from __future__ import annotations

from blockstep.diagnostics.words import Words, argument_fact, element_text, kept, plural, who
from blockstep.findings import (
    CompiledFault,
    Disagrees,
    Party,
    PassBroke,
    Suspect,
    TouchesElsewhere,
    Undecided,
)

NOT_THE_KERNEL = "a bug in the compiler, not in your kernel"
MOST_LINES = 8  # of compiled code, or of a rewrite
LONGEST = 120  # characters of one of them


def disagrees(event: Disagrees) -> Words:
    """Other values than the source's."""
    element = element_text(event.argument, event.element)
    limits = event.limits
    allowed = f"; {limits[0]} to {limits[1]} would be right" if limits else ""
    verb = "differs" if event.count == 1 else "differ"
    part = f"{event.count} of {plural(event.total, 'element')}"
    made = "what is stored here"
    if event.rewritten:
        made = f"`{event.suspect.stage}` rewrites this"
    elif event.made_by:
        made = f"what {event.made_by} makes here"
    stored = event.stored_at
    related = (Party("the value is stored here", stored),) if stored else ()
    return Words(
        message=f"{_rung(event.rung)} leaves {element} = {event.found}, and the source {event.wanted}",
        label=made,
        facts=kept(
            who(event),
            argument_fact(event.argument, f"{part} {verb}{allowed}"),
            *[f"the machine found {text}" for text in event.said],
            *_suspected(event.suspect),
        ),
        notes=(_blame(event.rung),),
        argument=event.argument,
        elements=(event.element,),
        count=event.count,
        related=related,
        details={"rung": event.rung, "total": event.total, **_details(event.suspect)},
    )


def compiled_fault(event: CompiledFault) -> Words:
    """A rule that the source keeps."""
    return Words(
        message=f"{_rung(event.rung)} breaks a rule that the source keeps: {event.fault}",
        label=event.what,
        facts=kept(who(event), _short(event.where), *_suspected(event.suspect)),
        notes=(_blame(event.rung),),
        details={"rung": event.rung, "fault": event.fault, **_details(event.suspect)},
    )


def touches_elsewhere(event: TouchesElsewhere) -> Words:
    """Other memory than the source's."""
    verb = "writes" if event.writes else "reads"
    place = f" of `{event.argument.name}`" if event.argument is not None else " of no argument"
    first = element_text(event.argument, event.elements[0]) if event.elements else ""
    return Words(
        message=f"{_rung(event.rung)} {verb} {plural(event.count, 'byte')}{place} that the source "
        f"never {verb}",
        label=f"the first are those of {first}" if first else "",
        facts=kept(who(event), _short(event.where), *_suspected(event.suspect)),
        notes=(_blame(event.rung),),
        argument=event.argument,
        elements=event.elements,
        count=event.count,
        details={"rung": event.rung, "writes": event.writes, **_details(event.suspect)},
    )


def pass_broke(event: PassBroke) -> Words:
    """The compiler itself fails."""
    return Words(
        message=f"the pass `{event.name}` fails on this kernel",
        facts=kept(event.what),
        notes=(NOT_THE_KERNEL,),
        details={"rung": f"after {event.name}", "stage": event.name},
    )


def undecided(event: Undecided) -> Words:
    """Neither right nor wrong."""
    verb = "differs" if event.count == 1 else "differ"
    return Words(
        message=f"{plural(event.count, 'element')} {verb} {_on(event.rung)}, and nobody can say "
        f"whether {'it' if event.count == 1 else 'they'} may",
        facts=kept(event.why),
        notes=("choose inputs that decide: small integers are exact, and ties are far",),
        count=event.count,
        details={"rung": event.rung},
    )


def _rung(name: str) -> str:
    """the IR after `cse:2`; the PTX."""
    if name.startswith("after "):
        return f"the IR after the pass `{name.removeprefix('after ')}`"
    return {"grid": "the IR of the front end", "gpu": "the device"}.get(name, f"the rung `{name}`")


def _on(name: str) -> str:
    return f"on the rung `{name}`"


def _blame(rung: str) -> str:
    return "a bug in blockstep, not in your kernel" if rung == "grid" else NOT_THE_KERNEL


def _suspected(suspect: Suspect) -> list[str]:
    found = []
    if suspect.rewrite is not None:
        one = suspect.rewrite
        found.append(f"`{suspect.stage}` makes it wrong by rewrite {one.number} of {one.of}:")
        found += [f"  - {_short(line)}" for line in _some(one.before)]
        found += [f"  + {_short(line)}" for line in _some(one.after)]
    elif suspect.stage == "barriers":
        found.append("with a barrier before every access it is right: `barriers` leaves one out")
    elif suspect.without:
        found.append(f"without the pass `{suspect.without}` the compiled code is right")
    elif suspect.stage in ("lowering", "LLVM"):
        found.append(f"every pass keeps the result: it is lost in {suspect.stage}")
    if suspect.lines:
        found.append("it became:")
        found += [f"  {_short(line)}" for line in _some(suspect.lines)]
    return found


def _short(line: str) -> str:
    flat = " ".join(line.split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 3]}..."


def _some(lines: tuple[str, ...]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return list(lines)
    return [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} more"]


def _details(suspect: Suspect) -> dict[str, object]:
    found: dict[str, object] = {}
    if suspect.stage:
        found["stage"] = suspect.stage
    if suspect.without:
        found["without"] = suspect.without
    if suspect.rewrite is not None:
        one = suspect.rewrite
        found["rewrite"] = {
            "number": one.number, "of": one.of, "before": list(one.before), "after": list(one.after),
        }  # fmt: skip
    if suspect.lines:
        found["lines"] = list(suspect.lines)
    return found

"""Forms of PTX that ptxas assembles into wrong machine code, and what is written for them instead.

Each was found on a device by the ladder, is right by the PTX ISA (the ptx machine gives the source's
result), and is wrong at every optimisation level above 0 of every version named. What stands instead
means the same, so that nothing hangs on whether a version is mended.

Negated operands of a maximum (ptxas 12.8 to 13.5, compute capability 9.0 and 10.0): of two nested
signed maxima, or minima, of at most 32 bits one instruction with three operands is made, which has no
sign for its second operand: max(max(a, -b), c) becomes max(max(a, b), c). A negation that goes into a
maximum is written as a complement and an addition.

Halves of a pair (ptxas 12.8 to 13.5, compute capability 9.0): where two registers are packed into one and
taken apart again, and all lanes hold the same, the upper half may be taken from another register. Halves
are taken from the two registers, whose values the pair only repeats.
"""

from __future__ import annotations

import re
from collections import Counter

_NAME = re.compile(r"%\w+")
_EXTREMUM = re.compile(r"\b(?:max|min)\.s(?:16|32)\s+%\w+, (%\w+|-?\d+), (%\w+|-?\d+);")
_NEGATION = re.compile(
    r"^(?P<lead>[ \t]*)neg\.s(?P<bits>16|32)(?P<gap>\s+)(?P<result>%\w+), (?P<operand>%\w+);$",
    re.M,
)


_PACKED = re.compile(r"\bprmt\.b32\s+(%\w+), (%\w+), (%\w+), 0x5410U?;")
_HALVES = re.compile(
    r"^(?P<lead>[ \t]*)mov\.b32(?P<gap>\s+)\{(?P<low>%\w+), (?P<high>%\w+)\}, (?P<pair>%\w+);$",
    re.M,
)
_WRITTEN = re.compile(r"(?:^|;)\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(\{[^}]*\}|%\w+)", re.M)


def written_around(ptx: str) -> str:
    """The same program without the forms above."""
    return _without_pairs(_without_negations(ptx))


def _without_pairs(ptx: str) -> str:
    packed = {pair: (low, high) for pair, low, high in _PACKED.findall(ptx)}
    if not packed:
        return ptx
    written = Counter(name for found in _WRITTEN.findall(ptx) for name in _NAME.findall(found))

    def halves(found: re.Match[str]) -> str:
        parts = packed.get(found["pair"])
        if parts is None or any(written[name] != 1 for name in (found["pair"], *parts)):
            return found[0]  # another value may have come into one of them since
        lead, gap = found["lead"], found["gap"]
        return "\n".join(
            f"{lead}cvt.u16.u32{gap}{half}, {part};"
            for half, part in zip((found["low"], found["high"]), parts, strict=True)
        )

    return _HALVES.sub(halves, ptx)


def _without_negations(ptx: str) -> str:
    if "neg.s" not in ptx:
        return ptx
    used = {operand for pair in _EXTREMUM.findall(ptx) for operand in pair}

    def negation(found: re.Match[str]) -> str:
        if found["result"] not in used:
            return found[0]
        lead, bits, gap, result, operand = found.groups()
        return (
            f"{lead}not.b{bits}{gap}{result}, {operand};\n"
            f"{lead}add.s{bits}{gap}{result}, {result}, 1;"
        )

    return _NEGATION.sub(negation, ptx)

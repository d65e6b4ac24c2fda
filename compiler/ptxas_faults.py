"""Forms of PTX that ptxas assembles into wrong machine code, and what is written for them instead.

Each was found on a device by the ladder, is right by the PTX ISA (the ptx machine gives the source's
result), and is wrong at every optimisation level above 0 of every version named. What stands instead
means the same, so that nothing hangs on whether a version is mended.

Negated operands of a maximum (ptxas 12.8 to 13.5, compute capability 9.0 and 10.0): of two nested
signed maxima, or minima, of at most 32 bits one instruction with three operands is made, which has no
sign for its second operand: max(max(a, -b), c) becomes max(max(a, b), c). A negation that goes into a
maximum is written as a complement and an addition.
"""

from __future__ import annotations

import re

_EXTREMUM = re.compile(r"\b(?:max|min)\.s(?:16|32)\s+%\w+, (%\w+|-?\d+), (%\w+|-?\d+);")
_NEGATION = re.compile(
    r"^(?P<lead>[ \t]*)neg\.s(?P<bits>16|32)(?P<gap>\s+)(?P<result>%\w+), (?P<operand>%\w+);$",
    re.M,
)


def written_around(ptx: str) -> str:
    """The same program without the forms above."""
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

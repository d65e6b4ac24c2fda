"""PTX text as tokens, each with its line.

Comments are dropped. Whatever is glued together by dots stands in one token (`ld.global.b32`,
`%tid.x`, `.shared::cta`), because PTX gives the dot no other use.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from blockstep.interp.ptx.faults import Malformed

_TOKEN = re.compile(
    r"""(?:[ \t\r]+|//[^\n]*)*(?:
    (?P<newline>\n+)
    | (?P<comment>/\*.*?\*/)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?
        |0[bB][01]+U?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+U?)
    | (?P<word>[.%$_A-Za-z](?:[\w$.%]|::(?=\w))*)
    | (?P<mark>[-+@!|<>=:;,(){}\[\]*~])
    | (?P<end>\Z))""",
    re.X | re.S,
)


class Token(NamedTuple):
    """`kind` is string, number, word or mark."""

    kind: str
    text: str
    line: int


def tokens(text: str) -> list[Token]:
    """All tokens of a text. Raises Malformed at a character that begins none."""
    found: list[Token] = []
    at, line, match = 0, 1, _TOKEN.match
    while at < len(text):
        one = match(text, at)
        if one is None:
            rest = text[at:].lstrip(" \t\r")
            if rest[0] == "\0":  # C strings end so; the driver reads no further either
                break
            raise Malformed(f"{rest[0]!r} begins nothing that PTX knows", line)
        kind = one.lastgroup or ""
        at = one.end()
        if kind == "newline":
            line += at - one.start(kind)
        elif kind == "comment":
            line += one[kind].count("\n")
        elif kind != "end":
            found.append(Token(kind, one[kind], line))
    return found

"""Python source in colours: fragments of each line, from the standard tokenizer.

Nothing is changed but styles: the fragments of a line joined are the line.
"""

from __future__ import annotations

import io
import keyword
import linecache
import tokenize
from functools import lru_cache

from blockstep.debugger.views.text import Line

_OPENING = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})
_LANGUAGE = frozenset({"tl", "triton", "language", "gl"})
_BUILTINS = frozenset("range len min max abs int float bool tuple list print zip enumerate isinstance".split())  # fmt: skip
_STRINGS = {
    number
    for name, number in vars(tokenize).items()
    if name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
}
Piece = tuple[int, int, str]  # first column, column past the last, style


def lines_of(file: str) -> list[Line]:
    """All lines of a file; none where it cannot be read."""
    return highlighted("".join(linecache.getlines(file)))


@lru_cache(maxsize=16)
def highlighted(text: str) -> list[Line]:
    """Each line of a source text, tabs as spaces. What the tokenizer refuses has no colours."""
    lines = text.expandtabs(4).splitlines()
    pieces: list[list[Piece]] = [[] for _ in lines]
    try:
        _mark("\n".join(lines) + "\n", pieces)
    except (tokenize.TokenError, SyntaxError):
        pass  # the lines that were read have their colours
    return [_styled(line, found) for line, found in zip(lines, pieces, strict=True)]


def _mark(text: str, pieces: list[list[Piece]]) -> None:
    before = tokenize.NEWLINE
    word = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        style = _style(token, before, word)
        if style:
            _put(token, style, pieces)
        if token.type not in (tokenize.COMMENT,):
            before, word = token.type, token.string


def _style(token: tokenize.TokenInfo, before: int, word: str) -> str:
    if token.type == tokenize.COMMENT:
        return "class:code.comment"
    if token.type in _STRINGS:
        return "class:code.string"
    if token.type == tokenize.NUMBER:
        return "class:code.number"
    if token.type == tokenize.NAME:
        return _name_style(token.string, word)
    if token.type == tokenize.OP and token.string == "@" and before in _OPENING:
        return "class:code.decorator"
    return ""


def _name_style(name: str, word: str) -> str:
    if keyword.iskeyword(name):
        return "class:code.keyword"
    if word in ("def", "class"):
        return "class:code.definition"
    if word == "@":
        return "class:code.decorator"
    if name in _LANGUAGE and word != ".":
        return "class:code.language"
    return "class:code.builtin" if name in _BUILTINS and word != "." else ""


def _put(token: tokenize.TokenInfo, style: str, pieces: list[list[Piece]]) -> None:
    """A token may go over several lines."""
    (first, left), (last, right) = token.start, token.end
    for row in range(first, last + 1):
        if row <= len(pieces):
            start = left if row == first else 0
            pieces[row - 1].append((start, right if row == last else 1 << 30, style))


def _styled(line: str, pieces: list[Piece]) -> Line:
    found: Line = []
    at = 0
    for left, right, style in pieces:
        if left > at:
            found.append(("", line[at:left]))
        found.append((style, line[max(left, at) : right]))
        at = max(at, min(right, len(line)))
    if at < len(line) or not found:
        found.append(("", line[at:]))
    return found


__all__ = ["highlighted", "lines_of"]

"""One line of Python as HTML: words coloured, expressions underlined."""

from __future__ import annotations

import io
import keyword
import linecache
import tokenize
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from blockstep.findings import Span
from blockstep.page.html import Html, join, tag

_STRINGS = {
    number
    for name, number in vars(tokenize).items()
    if name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
}


def pieces(file: str, line: int, text: str, marks: Sequence[tuple[Span, str]]) -> Html:
    """The line; of each mark the columns that it covers here stand in a `mark` element."""
    words = [""] * len(text)
    for start, stop, style in _tokens(file).get(line, ()):
        words[start:stop] = [style] * len(words[start:stop])
    under = [""] * len(text)
    for span, style in marks:
        start, stop = _columns(span, line, text)
        under[start:stop] = [style] * len(under[start:stop])
    out = []
    at = 0
    for style, group in groupby(zip(under, words, strict=True), key=lambda pair: pair[0]):
        parts = []
        for word, run in groupby(group, key=lambda pair: pair[1]):
            length = len(list(run))
            piece = text[at : at + length]
            parts.append(tag("span", piece, class_=word) if word else join([piece]))
            at += length
        out.append(tag("mark", parts, class_=style) if style else join(parts))
    return join(out)


def _columns(span: Span, line: int, text: str) -> tuple[int, int]:
    """The columns of a span in a line, from 0."""
    start = len(text) - len(text.lstrip())
    stop = len(text)
    if span.column and line == span.line:
        start = span.column - 1
    if span.end_column and line == max(span.line, span.end_line):
        stop = span.end_column - 1
    return start, max(stop, start + 1)


@lru_cache(maxsize=64)
def _tokens(file: str) -> dict[int, list[tuple[int, int, str]]]:
    """By line: first column, column past the last, class. What cannot be read has no colours."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    text = "".join(linecache.getlines(file))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            style = _style(token)
            if style:
                for row in range(token.start[0], token.end[0] + 1):
                    start = token.start[1] if row == token.start[0] else 0
                    stop = token.end[1] if row == token.end[0] else 1 << 20
                    found.setdefault(row, []).append((start, stop, style))
    except (tokenize.TokenError, SyntaxError):
        pass  # the lines that were read have theirs
    return found


def _style(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "c-comment"
    if token.type in _STRINGS:
        return "c-string"
    if token.type == tokenize.NUMBER:
        return "c-number"
    if token.type == tokenize.NAME and keyword.iskeyword(token.string):
        return "c-keyword"
    return ""


__all__ = ["pieces"]

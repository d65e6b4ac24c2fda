"""Language errors that are found while a program runs, raised at the user's expression."""

from __future__ import annotations

from typing import NoReturn

from blockstep.errors import CompilationError
from blockstep.language.frames import kernel_source, user_site


def complain(message: str, kind: type[CompilationError] = CompilationError) -> NoReturn:
    """Raises a language error at the expression that is running."""
    site = user_site()
    source = kernel_source(site.code)
    span = site.span
    if source is None:
        raise kind(None, None, message, span=span)
    place = source.relative(source.tree)
    place.lineno = span.line - source.line + 1  # type: ignore[attr-defined]
    place.col_offset = max(span.column - 1 - source.column, 0)  # type: ignore[attr-defined]
    raise kind(source.text, place, message, span=span)

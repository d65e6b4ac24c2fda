"""Language errors that are found while a program runs, raised at the user's expression."""

from __future__ import annotations

import dis
from types import TracebackType
from typing import NoReturn

from blockstep.errors import CompilationError, LanguageError
from blockstep.findings import Site
from blockstep.language.frames import blamed, is_ours, kernel_source, user_site

_RAISE = dis.opmap["RAISE_VARARGS"]
_REFUSALS = (TypeError, ValueError, AssertionError, IndexError, NotImplementedError, AttributeError)


def complain(message: str, kind: type[CompilationError] = LanguageError) -> NoReturn:
    """Raises a language error at the expression that is running."""
    raise _error(message, user_site(), kind)


def _error(message: str, site: Site, kind: type[CompilationError]) -> CompilationError:
    source = kernel_source(site.code)
    span = site.span
    if source is None:
        return kind(None, None, message, span=span)
    place = source.relative(source.tree)
    place.lineno = span.line - source.line + 1  # type: ignore[attr-defined]
    place.col_offset = max(span.column - 1 - source.column, 0)  # type: ignore[attr-defined]
    return kind(source.text, place, message, span=span)


def as_language_error(error: BaseException) -> BaseException:
    """What a kernel's exception is for its caller.

    A refusal that the language itself raised (`tl.arange` of a length that is no power of 2) becomes
    a language error at the user's expression, with the refusal as its cause. Everything that user
    code or a fault raised stays what it is."""
    if type(error) not in _REFUSALS or not _was_raised_here(error.__traceback__):
        return error
    site = blamed(error)
    if site is None:
        return error
    made = _error(str(error), site, LanguageError).with_traceback(error.__traceback__)
    made.__cause__ = error
    return made


def _was_raised_here(step: TracebackType | None) -> bool:
    """Whether an exception came from a `raise` statement of this package."""
    if step is None:
        return False
    while step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code
    return is_ours(code.co_filename) and code.co_code[step.tb_lasti] == _RAISE

"""`Access`, the one record of a read, write or atomic that checkers see, and `Site`, its place.

Invariant: addresses are absolute, in bytes, and have the shape of the block; so has a mask.
A `Site` costs two machine words to make; its `Span` is computed when someone asks.
"""

from __future__ import annotations

import linecache
from copy import copy
from itertools import islice
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from blockstep.findings.model import Program, Span

if TYPE_CHECKING:
    from blockstep.interp.memory import Storage, View

AccessKind = Literal["read", "write", "atomic"]


class Site:
    """An instruction of the user's code: its code object and its offset in it."""

    __slots__ = ("_span", "caller", "code", "key", "lasti")

    def __init__(self, code: CodeType, lasti: int, caller: Site | None = None) -> None:
        self.code = code
        self.lasti = lasti
        self.caller = caller  # the call that led here, when `code` is a device function
        self.key = (id(code), lasti)
        self._span: Span | None = None

    @property
    def span(self) -> Span:
        """The expression that the instruction computes."""
        if self._span is None:
            self._span = span_of(self.code, self.lasti)
        return self._span

    @property
    def callers(self) -> tuple[Span, ...]:
        """The calls that led here, innermost first."""
        found: list[Span] = []
        site = self.caller
        while site is not None:
            found.append(site.span)
            site = site.caller
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Site({self.span.file}:{self.span.line}:{self.span.column})"


def span_of(code: CodeType, lasti: int) -> Span:
    """The source range of one instruction; without positions, the function's first line."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), max(lasti, 0) // 2, None), (None,) * 4
    )
    file, name = code.co_filename, code.co_name
    if line is None:
        return Span(file, code.co_firstlineno, 0, code.co_firstlineno, 0, name)
    if column is None or end_column is None or end_line is None:
        return Span(file, line, 0, end_line or line, 0, name)
    return Span(
        file,
        line,
        characters(file, line, column) + 1,
        end_line,
        characters(file, end_line, end_column) + 1,
        name,
    )


def characters(file: str, line: int, utf8: int) -> int:
    """CPython counts columns in UTF-8 bytes; a reader counts characters."""
    text = linecache.getline(file, line)
    return utf8 if text.isascii() else len(text.encode()[:utf8].decode(errors="ignore"))


class Access:
    """One load, store or atomic of one program instance, a whole block at once.

    Addresses, mask and value may be given as values of the language (anything with a `handle`):
    their arrays are made when somebody asks, which for regular blocks is almost never."""

    __slots__ = (
        "_addresses",
        "_value",
        "given",
        "itemsize",
        "kind",
        "known",
        "op",
        "program",
        "reach",
        "scope",
        "sem",
        "shape",
        "site",
        "skipped",
        "storage",
        "view",
    )

    def __init__(
        self,
        op: str,  # "load", "store", "atomic_add", ...
        view: View | None,
        storage: Storage | None,
        kind: AccessKind,
        itemsize: int,
        addresses: Any,
        mask: Any,  # None: every element takes part
        program: Program,
        site: Site,
        value: Any = None,
        sem: str | None = None,
        scope: str | None = None,
        reach: Any = None,
    ) -> None:
        self.op, self.view, self.storage, self.kind = op, view, storage, kind
        self.itemsize = itemsize
        self._addresses, self._value = addresses, value
        self.given = mask  # the mask as it was given, or replaced
        self.shape: tuple[int, ...] = addresses.shape
        self.program, self.site = program, site
        self.sem, self.scope = sem, scope
        self.reach = reach  # what `interp.reach` works out once for all checkers
        self.known: Any = None  # elements whose address itself was reported
        self.skipped = False  # whether a checker kept some elements from being touched

    @property
    def addresses(self) -> npt.NDArray[np.int64]:
        """The address of every element, active or not."""
        found: npt.NDArray[np.int64] = _array(self._addresses)
        return found

    @property
    def value(self) -> npt.NDArray[Any] | None:
        """What is stored."""
        return None if self._value is None else _array(self._value)

    @property
    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which elements take part; None: all of them."""
        return None if self.given is None else _array(self.given)

    @mask.setter
    def mask(self, mask: npt.NDArray[np.bool_] | None) -> None:
        self.given = mask

    def part(self, mask: Any) -> Access:
        """The same access of other elements."""
        made = copy(self)
        made.given = mask
        return made


def _array(x: Any) -> Any:
    return x if type(x) is np.ndarray else np.asarray(getattr(x, "handle", x))

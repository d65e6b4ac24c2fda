"""Where a kernel's text is: its syntax tree at the exact lines and columns of the user's file.

Invariant: every node of `Source.tree` has the position that the text has in the file, so code
compiled from it points at the user's own expressions. An indented function is parsed under an
`if 1:` line instead of being dedented, which would move columns and change long strings.
Works for files, notebooks, and generated or exec'd code that `linecache` knows.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass, replace
from types import FunctionType

from blockstep.findings import Span
from blockstep.findings.access import characters


@dataclass(frozen=True, eq=False)
class Source:
    """A function's text (dedented, from `def` on), its tree, and where they stand in the file."""

    text: str
    tree: ast.FunctionDef
    file: str
    line: int  # of the word `def`
    column: int  # of the word `def`, in UTF-8 bytes
    parsed: str  # the function at its own lines and columns
    edited: bool = False  # not the file's text

    def fresh_tree(self) -> ast.FunctionDef:
        """Another tree of the same text, to be rewritten."""
        return _function_in(self.parsed, self.file, self.tree.name)

    def relative(self, node: ast.AST) -> ast.AST:
        """A stand-in for `node` whose position counts from the function's own first line."""
        place = ast.Pass()
        place.lineno = getattr(node, "lineno", self.line) - self.line + 1
        place.col_offset = max(getattr(node, "col_offset", self.column) - self.column, 0)
        return place

    def span(self, node: ast.AST) -> Span:
        """The range of `node` in the file."""
        line = getattr(node, "lineno", self.line)
        end = getattr(node, "end_lineno", None) or line
        start, stop = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
        if start is None or stop is None:
            return Span(self.file, line, 0, end, 0, self.tree.name)
        first, last = characters(self.file, line, start), characters(self.file, end, stop)
        return Span(self.file, line, first + 1, end, last + 1, self.tree.name)


def source_of(fn: FunctionType, text: str | None = None) -> Source:
    """The source of `fn`; `text` stands in for what the file says (an edited kernel).

    Raises OSError where there is none: the function was typed at a plain prompt or exec'd
    without a `linecache` entry."""
    lines, first = _lines(fn)
    original = _parse(lines, first, fn)
    if text is None:
        return original
    edited = textwrap.dedent(text)
    indent = " " * original.column
    indented = [indent + line if line.strip() else line for line in edited.splitlines(True)]
    replaced = _parse(indented, original.line, fn)
    return replace(replaced, text=edited, edited=True)


def _lines(fn: FunctionType) -> tuple[list[str], int]:
    code = fn.__code__
    linecache.checkcache(code.co_filename)
    everything = linecache.getlines(code.co_filename, fn.__globals__)
    if 0 < code.co_firstlineno <= len(everything):
        return inspect.getblock(everything[code.co_firstlineno - 1 :]), code.co_firstlineno
    try:
        return inspect.getsourcelines(fn)
    except OSError:
        raise OSError(
            f"the source of `{fn.__name__}` is not to be found: {code.co_filename} is no file and "
            "linecache does not know it; define the kernel in a file or a notebook cell, or, for "
            "exec: compile(text, name, 'exec') and linecache.cache[name] = (len(text), None, "
            "text.splitlines(True), name)"
        ) from None


def _parse(lines: list[str], first: int, fn: FunctionType) -> Source:
    """Empty lines stand for what is before the function, so positions need no correction."""
    above = ["\n" * (first - 2), "if 1:\n"] if lines[0][:1].isspace() else ["\n" * (first - 1)]
    parsed, code = "".join([*above, *lines]), fn.__code__
    tree = _function_in(parsed, code.co_filename, code.co_name)
    text = textwrap.dedent("".join(lines[tree.lineno - first :]))
    return Source(text, tree, code.co_filename, tree.lineno, tree.col_offset, parsed)


def _function_in(parsed: str, file: str, name: str) -> ast.FunctionDef:
    for node in ast.walk(ast.parse(parsed, file)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise OSError(f"the source of `{name}` is not where {file} should have it")

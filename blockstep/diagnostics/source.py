"""The user's source text around a span: lines, expressions, statements; what helps are built from.

Invariant: every function answers None or an empty text when the source cannot be had (a deleted
file, `exec` without linecache), and never raises for it. Columns are characters from 1.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
from functools import lru_cache

from blockstep.findings import Span

_ALLOW = re.compile(r"#.*\bblockstep:\s*allow\(([^)]*)\)")

LONGEST_HELP = 96  # characters of source repeated in a help


def shown_path(file: str) -> str:
    """The path as a reader would type it: relative when it lies under the current folder."""
    if file.startswith("<"):
        return file
    path, here = os.path.abspath(file), os.getcwd()
    return os.path.relpath(path, here) if path.startswith(here.rstrip(os.sep) + os.sep) else path


def place(span: Span) -> str:
    """run.py:6."""
    return f"{shown_path(span.file)}:{span.line}"


def line_text(file: str, line: int) -> str:
    """One line without its end; empty when it cannot be had."""
    return linecache.getline(file, line).rstrip()


@lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def tree(file: str) -> ast.Module | None:
    """The syntax tree of a whole file."""
    lines = linecache.getlines(file)
    return _parse("".join(lines)) if lines else None


def span_text(span: Span) -> str:
    """The text of an expression on one line; several lines are joined, comments dropped."""
    if not span.column or not span.end_column:
        return ""
    if span.end_line in (0, span.line):
        return line_text(span.file, span.line)[span.column - 1 : span.end_column - 1]
    node = expression(span)
    return ast.unparse(node) if node else ""


def expression(span: Span) -> ast.expr | None:
    """The syntax tree of the expression at a span."""
    if not span.column or not span.end_column:
        return None
    lines = [line_text(span.file, n) for n in range(span.line, max(span.line, span.end_line) + 1)]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    module = _parse("(" + "\n".join(lines) + "\n)")
    first = module.body[0] if module and module.body else None
    return first.value if isinstance(first, ast.Expr) else None


def call(span: Span) -> ast.Call | None:
    """The call at a span."""
    node = expression(span)
    return node if isinstance(node, ast.Call) else None


def statement(span: Span) -> ast.stmt | None:
    """The innermost statement that the line of a span belongs to."""
    module = tree(span.file)
    found: ast.stmt | None = None
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.stmt) and node.lineno <= span.line <= (node.end_lineno or 0):
            found = node if found is None or node.lineno >= found.lineno else found
    return found


def statement_lines(span: Span) -> range:
    """The lines of that statement; of a compound one (`for`, `if`, `def`), its header only."""
    last = max(span.line, span.end_line)
    node = statement(span)
    if node is None:
        return range(span.line, last + 1)
    body = getattr(node, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or last
    return range(min(node.lineno, span.line), max(last, node.lineno, end) + 1)


def allowed_names(span: Span) -> frozenset[str]:
    """What `# blockstep: allow(race, grid)` comments on the statement's lines name."""
    found: set[str] = set()
    for n in statement_lines(span):
        comment = _ALLOW.search(line_text(span.file, n))
        if comment:
            found |= set(comment[1].replace(",", " ").split())
    return frozenset(found)


def function(span: Span) -> ast.FunctionDef | None:
    """The function that a span is in."""
    module = tree(span.file)
    found: ast.FunctionDef | None = None
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.FunctionDef) and node.lineno <= span.line <= (node.end_lineno or 0):
            found = node
    return found


def target_of(span: Span) -> str:
    """The name that the statement at a span assigns, if it assigns one name."""
    node = statement(span)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        name = node.targets[0]
        return name.id if isinstance(name, ast.Name) else ""
    return ""


def is_untouched_parameter(span: Span, name: str) -> bool:
    """Whether a name is a parameter of the function around a span that it never assigns."""
    node = function(span)
    if node is None or name not in {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}:
        return False
    return not any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in ast.walk(node)
    )


def mentions(span: Span, name: str) -> bool:
    """Whether the function around a span uses a name or an attribute of that name."""
    node = function(span)
    return node is not None and any(
        (isinstance(n, ast.Attribute) and n.attr == name)
        or (isinstance(n, ast.Name) and n.id == name)
        for n in ast.walk(node)
    )


def with_keyword(span: Span, keyword: str) -> str:
    """The call at a span with one more keyword argument, to paste; empty when it is no call."""
    node = call(span)
    if node is None:
        return ""
    text = re.sub(r",?\s*\)$", "", span_text(span))
    whole = f"{text}, {keyword})" if node.args or node.keywords else f"{text}{keyword})"
    return whole if len(whole) <= LONGEST_HELP else f"{ast.unparse(node.func)}(..., {keyword})"


def argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument of a call, given by position or by name."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    plain = [a for a in node.args if not isinstance(a, ast.Starred)]
    return plain[position] if position < len(plain) else None


def has_keyword(span: Span, name: str) -> bool:
    """Whether the call at a span has a keyword argument of that name."""
    node = call(span)
    return node is not None and any(keyword.arg == name for keyword in node.keywords)


def is_descriptor_access(span: Span) -> bool:
    """Whether the call at a span is `descriptor.load([row, column])` or a store like it."""
    node = call(span)
    return (
        node is not None
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load", "store")
        and bool(node.args)
        and isinstance(node.args[0], ast.List | ast.Tuple)
    )


def block_pointer_rank(span: Span) -> int:
    """The rank of the block pointer that the call at a span accesses; 0 when it is no such."""
    node, around = call(span), function(span)
    pointer = argument(node, 0, "pointer") if node else None
    if around is None or not isinstance(pointer, ast.Name):
        return 0
    for n in ast.walk(around):
        made = n.value if isinstance(n, ast.Assign) else None
        named = isinstance(n, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == pointer.id for t in n.targets
        )
        if named and isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
            shape = argument(made, 4, "block_shape")
            if made.func.attr == "make_block_ptr" and isinstance(shape, ast.List | ast.Tuple):
                return len(shape.elts)
    return 0


def grouped(node: ast.expr) -> str:
    """The text of an expression, in brackets unless it binds tightly by itself."""
    tight = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
    return ast.unparse(node) if tight else f"({ast.unparse(node)})"


_SAYS_HOW = {"input_precision", "allow_tf32", None}  # None: **more


def tf32_by_default(span: Span) -> bool:
    """Whether a matrix product at a span says nothing of how it reads float32."""
    node = call(span)
    if node is None or os.environ.get("TRITON_F32_DEFAULT"):
        return False
    starred = any(isinstance(a, ast.Starred) for a in node.args)
    return len(node.args) <= 3 and not starred and not {k.arg for k in node.keywords} & _SAYS_HOW

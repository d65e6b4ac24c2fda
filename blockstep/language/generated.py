"""The text of a kernel that was made by `exec` from a string that no file holds.

`jit` runs inside the `exec`, so the text is still in the hands of a caller: in one of its locals,
constants or globals. Invariant: a text is taken only if compiling it gives exactly the code of the function.
It is then given a file name of its own that `linecache` knows, so tracebacks, debuggers and the
transform find it as they find a file's.
"""

from __future__ import annotations
import __future__ as future

import hashlib
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType

_FLAGS = sum(getattr(future, name).compiler_flag for name in future.all_feature_names)
_FAR = 12
"""How many callers are asked."""


def keep_text(fn: FunctionType) -> None:
    """Finds the text of `fn` if no file and no `linecache` entry holds it; else does nothing."""
    code = fn.__code__
    if not code.co_filename.startswith("<") or linecache.getlines(code.co_filename, fn.__globals__):
        return
    for text in _candidates(sys._getframe(1), f"def {code.co_name}"):
        if _makes(text, code):
            fn.__code__ = code.replace(co_filename=_named(text, code.co_filename))
            return


def _candidates(frame: FrameType | None, sign: str) -> Iterator[str]:
    for _ in range(_FAR):
        if frame is None:
            return
        code, outer = frame.f_code, frame.f_globals
        named = [outer[name] for name in code.co_names if name in outer]
        for value in (*frame.f_locals.values(), *code.co_consts, *named):
            if isinstance(value, str) and sign in value:
                yield value
        frame = frame.f_back


def _makes(text: str, code: CodeType) -> bool:
    try:
        whole = compile(text, code.co_filename, "exec", code.co_flags & _FLAGS, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return _holds(whole, code)


def _holds(whole: CodeType, code: CodeType) -> bool:
    inner = [c for c in whole.co_consts if isinstance(c, CodeType)]
    return any(c == code or _holds(c, code) for c in inner)


def _named(text: str, file: str) -> str:
    """A file name for the text; the same text has the same name."""
    name = f"<{file.strip('<>')} {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name

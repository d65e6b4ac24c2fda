"""What Triton 3.6 compiles and what it rejects; every row was measured with its compiler.

Each kernel is `k(p, n, B: tl.constexpr)` with a pointer p, a run-time int32 n and B = 3.
"""

from __future__ import annotations

import collections
import linecache
import math
import pdb
import pickle
import textwrap
from types import FunctionType, ModuleType
from typing import Any

import pytest

from blockstep.errors import CompilationError, UnsupportedLanguageConstruct
from blockstep.language import loops, types
from blockstep.language.constant import constexpr
from blockstep.language.transform import Prepared, prepare
from blockstep.language.value import tensor

tl = ModuleType("blockstep.language_for_tests")
vars(tl).update(
    range=loops.range,
    static_range=loops.static_range,
    constexpr=constexpr,
    tensor=tensor,
    float32=types.float32,
)


def builtin(name: str, **attributes: Any) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("rules do not run a kernel")

    function.__name__ = name
    function.__module__ = "blockstep.language.memory"
    vars(function).update(attributes)
    return function


for _name in ("load", "store", "arange", "program_id", "zeros"):
    setattr(tl, _name, builtin(_name))
tl.advance = builtin("advance", _must_use_result="It moves nothing by itself.")  # type: ignore[attr-defined]


class Jit:
    """The part of a jit function that the rules see."""

    __blockstep_jit__ = True
    __module__ = "blockstep.language.function"

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn
        self.prepared: Prepared = prepare(fn)


def host(x: int) -> int:
    return x


class Plain:
    X = 1


SCOPE = {
    "tl": tl,
    "math": math,
    "pdb": pdb,
    "G": 3,
    "NOTHING": None,
    "C": constexpr(4),
    "P": collections.namedtuple("P", "a b"),
    "K": Plain,
    "host": host,
    "load": builtin("load"),
}


def kernel(body: str, name: str = "k", **more: Any) -> FunctionType:
    text = f"def {name}(p, n, B: tl.constexpr):\n" + textwrap.indent(body, "    ") + "\n"
    file = f"<{name}: {body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {**SCOPE, **more}
    exec(compile(text, file, "exec"), scope)
    made = scope[name]
    assert isinstance(made, FunctionType)
    return made


def check(body: str, B: Any = 3, **more: Any) -> None:
    prepare(kernel(body, **more)).check({"B": B}, frozenset({"p", "n"}))


ACCEPTED = [
    "s = None\nif s is None:\n    tl.store(p, 1)",
    "x: tl.constexpr = 1\nx = 2",
    "for i in range(n):\n    x: tl.constexpr = 2",
    "for i in tl.static_range(2):\n    if n > i:\n        return\n    tl.store(p, 1)",
    "for i in tl.static_range(2):\n    return",
    "for i in tl.static_range(3):\n    pass\nelse:\n    y = 1",
    "a, b = (1, 2, 3)",
    "(a, b), c = ((1, 2), 3)",
    "t = [x + 1 for x in (1, 2)]",
    "if B == 99:\n    y = n + G\n    z = undefined_thing",
    "if B == 99:\n    raise ValueError()",
    "if B == 99:\n    y = 1 < n < 3",
    "if B == 3:\n    y = 1\nelse:\n    break_ = 1 < n < 3",
    "if B != 99 or n > 2:\n    y = 1\nelse:\n    raise ValueError()",
    "if B == 99 and n > 2:\n    raise ValueError()",
    "if C == 5:\n    raise ValueError()",
    "if C.value == 5:\n    raise ValueError()",
    "X: tl.constexpr = B + 1\nif X == 3:\n    raise ValueError()",
    "for i in tl.static_range(0):\n    raise ValueError()",
    "y = 1 if B else undefined_thing",
    "return\nraise ValueError()",
    "y = n + C",
    "y = NOTHING",
    "y = P(1, n)",
    "y = math.ceil(1.5)",
    "y = math.log(B)",
    "y = B ** 2",
    "y = tl.load(p)[None]",
    "'doc'",
    "n + 1",
    "x: int = 5",
    "print('a', n)",
    "y = min(B, 2) + max(n, 2) + len((1, 2)) + int(2.5)",
    "y = getattr(tl, 'float32')",
    "y = load(p)",
    "if n > 2:\n    return\ntl.store(p, 1)",
    "if None:\n    pass",
    "assert n > 1, 'no'",
    "f = f'{B}'",
    "y = (z := n) + 1",  # Triton 3.9
    "breakpoint()",
    "pdb.set_trace()",
    "import pdb; pdb.set_trace()",
    "from pdb import set_trace\nset_trace()",
    "print(f'{n}')",
]


@pytest.mark.parametrize("body", ACCEPTED)
def test_accepted(body: str) -> None:
    check(body)


REJECTED = [
    ("y = abs(n)", 2, 9, "abs is not defined"),
    ("y = sum((1, 2))", 2, 9, "sum is not defined"),
    ("for i in enumerate((1, 2)):\n    pass", 2, 14, "enumerate is not defined"),
    ("y = undefined_thing", 2, 9, "undefined_thing is not defined"),
    ("y = n + G", 2, 13, "Cannot access global variable G"),
    ("y = K.X", 2, 9, "Cannot access global variable K"),
    ("y = host(1)", 2, 9, "Unsupported function referenced"),
    ("if B == 99:\n    y = host(1)", 3, 13, "Unsupported function referenced"),
    ("x: tl.constexpr = 1\nx: tl.constexpr = 2", 3, 5, "x is already defined"),
    ("for i in tl.static_range(2):\n    x: tl.constexpr = i", 3, 9, "x is already defined"),
    ("for x in (1, 2):\n    pass", 2, 14, "Only `range` and `static_range`"),
    ("for x, y in range(n):\n    pass", 2, 9, "one name"),
    ("for i in range(n):\n    return", 3, 9, "Cannot have `return`"),
    ("for i in range(n):\n    if n > 2:\n        return", 4, 13, "Cannot have `return`"),
    ("while n > 2:\n    return", 3, 9, "Cannot have `return`"),
    ("a, *b = (1, 2)", 2, 8, "starred"),
    ("t = [x + y for x in (1, 2) for y in (1, 2)]", 2, 9, "nested comprehensions"),
    ("t = tuple(x for x in (1, 2))", 2, 9, "tuple is not defined"),
    ("y = 1 < n < 3", 2, 9, "simultaneous multiple comparison"),
    ("if n > 1:\n    y = 1 < n < 3", 3, 13, "simultaneous multiple comparison"),
    ("if tl.load(p) > 1:\n    pass\nelse:\n    y = 1 < n < 3", 5, 13, "simultaneous"),
    ("y = B in (1, 2)", 2, 9, "`in`"),
    ("a = b = 1", 2, 5, "Simultaneous multiple assignment"),
    ("if B == 99:\n    a = b = 1", 3, 9, "Simultaneous multiple assignment"),
    ("y = n @ n", 2, 9, "tl.dot"),
    ("n @= n", 2, 5, "tl.dot"),
    ("y = {1: 2}", 2, 9, "dict"),
    ("y = {1, 2}", 2, 9, "set"),
    ("y = {i for i in (1, 2)}", 2, 9, "set"),
    ("y = tl.load(p, **{})", 2, 9, r"\*\*keywords"),
    ("y = lambda: 1", 2, 9, "lambda"),
    ("import math", 2, 5, "import"),
    ("from math import exp", 2, 5, "import"),
    ("global G\ny = 1", 2, 5, "global"),
    ("t = (1, 2)\nt[0] = 3", 3, 5, "__setitem__"),
    ("t = (1, 2)\nt[0] += 3", 3, 5, "__setitem__"),
    ("n.x = 3", 2, 5, "Attribute assignment"),
    ("del n", 2, 5, "del"),
    ("for i in range(n):\n    break", 3, 9, "break"),
    ("for i in tl.static_range(3):\n    break", 3, 9, "break"),
    ("while n > 1:\n    continue", 3, 9, "continue"),
    ("for i in range(n):\n    pass\nelse:\n    y = 1", 5, 9, "else"),
    ("while n > 2:\n    n -= 1\nelse:\n    pass", 5, 9, "else"),
    ("try:\n    y = 1\nfinally:\n    y = 2", 2, 5, "try"),
    ("raise ValueError()", 2, 5, "raise"),
    ("def f():\n    pass", 2, 5, "nested function"),
    ("class A:\n    pass", 2, 5, "class"),
    ("return None", 2, 5, "cannot convert None"),
    ("yield 1", 2, 5, "yield"),
    ("match B:\n    case 1:\n        pass", 2, 5, "match"),
    ("tl.advance(p, (1,))", 2, 5, "not being used. It moves nothing"),
    ("tl.store(p, 1 if n > 2 else (1 < n < 3))", 2, 34, "simultaneous"),
    ("y = n > 1 and 1 < n < 3", 2, 19, "simultaneous"),
    ("with tl.load(p):\n    y = 1 < n < 3", 3, 13, "simultaneous"),
]


@pytest.mark.parametrize(("body", "line", "column", "message"), REJECTED)
def test_rejected(body: str, line: int, column: int, message: str) -> None:
    with pytest.raises(CompilationError, match=message) as caught:
        check(body)
    span = caught.value.span
    assert span is not None
    assert (span.line, span.column) == (line, column)
    assert f"at {line}:{column - 1}:\n" in str(caught.value)


@pytest.mark.parametrize("head", ["*args", "**kwargs"])
def test_variadic_kernels_are_rejected(head: str) -> None:
    text = f"def k(n, {head}):\n    pass\n"
    linecache.cache["<variadic>"] = (len(text), None, text.splitlines(keepends=True), "<variadic>")
    scope: dict[str, Any] = {}
    exec(compile(text, "<variadic>", "exec"), scope)
    made = prepare(scope["k"])
    with pytest.raises(CompilationError, match="cannot take"):
        made.check({})
    with pytest.raises(CompilationError, match="cannot take"):
        made.function(1)


def test_the_constexprs_choose_what_is_compiled() -> None:
    body = "if B == 2:\n    raise ValueError()"
    check(body)
    with pytest.raises(CompilationError, match="raise"):
        check(body, B=2)


def test_what_is_not_certain_is_raised_on_the_spot() -> None:
    made = prepare(kernel("if p.dtype == tl.float32:\n    y = B in (1, 2)"))
    made.check({"B": 3}, frozenset({"p", "n"}))

    class Pointer:
        dtype = types.float32

    with pytest.raises(UnsupportedLanguageConstruct, match="`in`") as caught:
        made.function(Pointer(), 1, 3)
    assert caught.value.span is not None
    assert caught.value.span.line == 3
    Pointer.dtype = types.float16
    made.function(Pointer(), 1, 3)


def test_a_global_is_judged_by_its_value_at_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    fn = kernel("y: tl.constexpr = G\nreturn y")
    made = prepare(fn)
    with pytest.raises(CompilationError, match="global variable G"):
        made.check({"B": 3})
    with pytest.raises(CompilationError, match="global variable G"):
        made.function(1, 2, 3)
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    made.check({"B": 3})
    monkeypatch.delenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    fn.__globals__["G"] = constexpr(5)
    made.check({"B": 3})


def test_a_called_function_is_checked_with_what_is_known_of_its_arguments() -> None:
    inner = Jit(kernel("if B == 2:\n    y = 1 < n < 3", name="inner"))
    check("inner(p, n, 3)", inner=inner)
    with pytest.raises(CompilationError) as caught:
        check("y = 1\ninner(p, n, B - 1)", inner=inner)
    assert caught.value.span is not None
    assert caught.value.span.line == 3
    cause = caught.value.__cause__
    assert isinstance(cause, UnsupportedLanguageConstruct)
    assert cause.span is not None
    assert (cause.span.line, cause.span.function) == (3, "inner")


def test_a_function_that_calls_itself_is_checked_once() -> None:
    fn = kernel("k(p, n, B)")
    fn.__globals__["k"] = jit = Jit(fn)
    jit.prepared.check({"B": 3})


def test_an_error_survives_pickling() -> None:
    with pytest.raises(CompilationError) as caught:
        check("y = 1 < n < 3")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert type(again) is UnsupportedLanguageConstruct

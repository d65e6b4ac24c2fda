"""The kernel that runs is the user's own: same places, names and events, with compiled meaning."""

from __future__ import annotations

import dis
import linecache
import pdb
import sys
import textwrap
import traceback
from collections.abc import Iterator
from io import StringIO
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from blockstep.errors import CompilationError
from blockstep.language import frames, loops, members, types
from blockstep.language.constant import constexpr
from blockstep.language.op import machine
from blockstep.language.transform import prepare, transform
from blockstep.language.value import tensor

tl = ModuleType("blockstep.language_for_tests")
vars(tl).update(
    range=loops.range,
    static_range=loops.static_range,
    condition=loops.condition,
    constexpr=constexpr,
    tensor=tensor,
    float32=types.float32,
)
WIDTH = constexpr(4)
COUNT = 3


class Calculator:
    """The least that a machine is: it computes with NumPy at once."""

    def __init__(self) -> None:
        self.pending: list[Any] = []
        self.tests: list[str] = []

    def emit(self, op: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        assert op.meaning is not None
        kind = op.rule(*[x.type for x in operands], **attributes)
        return tensor(op.meaning(*[x.handle for x in operands], **attributes), kind)

    def truth(self, x: Any, kind: str) -> bool:
        self.tests.append(kind)
        return bool(x.handle)

    def loop_bound(self, x: Any) -> int:
        return int(x.handle)


@pytest.fixture(autouse=True)
def calculator() -> Iterator[Calculator]:
    members.attach()
    running = Calculator()
    token = machine.set(running)
    yield running
    machine.reset(token)


def scalar(value: int, kind: Any = types.int32) -> tensor:
    return tensor(kind.numpy.type(value), kind)


def block(*values: int) -> tensor:
    return tensor(np.array(values, np.int32), types.block_type(types.int32, (len(values),)))


def number(x: Any) -> Any:
    return x.handle.item() if isinstance(x, tensor) else x


def function(fn: Any) -> FunctionType:
    """`fn`, which is written with `def`."""
    assert isinstance(fn, FunctionType)
    return fn


def noted(seen: list[Any], item: Any, result: Any) -> Any:
    """`result`, once `item` has been put down."""
    seen.append(item)
    return result


def language_function(value: Any) -> Any:
    """Host functions cannot be called in kernels; this one counts as the language's own."""
    if not callable(value) or isinstance(value, (type, constexpr)):
        return value

    def call(*args: Any) -> Any:
        return value(*args)

    call.__triton_builtin__ = True  # type: ignore[attr-defined]
    return call


def defined(text: str, file: str = "<kernel of a test>", **scope: Any) -> FunctionType:
    """`def k` of some text, known to linecache under `file`."""
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {name: language_function(value) for name, value in scope.items()}
    names: dict[str, Any] = {"tl": tl, "constexpr": constexpr, **scope}
    exec(compile(text, file, "exec"), names)
    found = names["k"]
    assert isinstance(found, FunctionType)
    return found


def run(text: str, *args: Any, **scope: Any) -> Any:
    returned = transform(defined(text, **scope))(*args)
    assert not machine.get().pending
    return returned


# Values


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("x = 1", types.int32, 1),
        ("x = 2**31", types.uint32, 2**31),
        ("x = 0.5", types.float32, 0.5),
        ("x = 1e300", types.float64, 1e300),
        ("x = True", types.int1, True),
        ("x = B", types.int32, 3),
        ("x = B // 2", types.int32, 1),
        ("x = WIDTH", types.int32, 4),
        ("x = tl.constexpr(7)", types.int32, 7),
        ("x: int = 5", types.int32, 5),
        ("x: 'tl.constexpr' = 5", types.int32, 5),
        ("B += 1\nx = B", types.int32, 4),
        ("(x := 6)", types.int32, 6),
        ("x = 1 if B == 3 else 2", types.int32, 1),
        ("x = float('inf')", types.float32, float("inf")),
        ("x, y = (1, 2)", types.int32, 1),
        ("x, y = (1, 2, 3)", types.int32, 1),
        ("x = max(B, 9)", types.int32, 9),
        ("x = max(n, 9)", types.int32, 9),
        ("x = min(n, B)", types.int32, 3),
        ("x = B.value", types.int32, 3),
        ("x = WIDTH.value", types.int32, 4),
    ],
)
def test_an_assigned_number_is_a_tensor(text: str, kind: Any, value: Any) -> None:
    lines = textwrap.indent(text, "    ")
    x = run(f"def k(n, B: tl.constexpr):\n{lines}\n    return x", scalar(5), 3, WIDTH=WIDTH)
    assert x.type is kind
    assert number(x) == value


@pytest.mark.parametrize("text", ["1", "B", "WIDTH", "B + WIDTH", "(1, 2)", "None", "tl.float32"])
def test_an_annotated_constexpr_stays_a_plain_value(text: str) -> None:
    seen: list[Any] = []
    run(
        f"def k(B: tl.constexpr):\n    x: tl.constexpr = {text}\n    see(x)",
        3,
        WIDTH=WIDTH,
        see=seen.append,
    )
    assert type(seen[0]) in (int, tuple, type(None), types.dtype) or seen[0] is types.float32


@pytest.mark.parametrize("text", ["None", "tl.float32"])
def test_none_and_dtypes_are_assigned_as_they_are(text: str) -> None:
    seen: list[Any] = []
    run(f"def k():\n    x = {text}\n    see(x)", see=seen.append)
    assert seen[0] is None or seen[0] is types.float32


@pytest.mark.parametrize("text", ["'hello'", "tl", "f'{1}'"])
def test_what_is_no_value_of_the_language_cannot_be_assigned(text: str) -> None:
    with pytest.raises(TypeError, match="cannot convert .* to tensor"):
        run(f"def k():\n    x = {text}")


def test_a_tuple_is_assigned_element_by_element() -> None:
    x = run("def k(n):\n    x = (1, n, (0.5, None))\n    return x", scalar(5))
    assert [number(v) for v in x[:2]] == [1, 5]
    assert x[2][0].type is types.float32
    assert x[2][1] is None


def test_a_list_is_a_tuple() -> None:
    assert [number(v) for v in run("def k():\n    return [a + 1 for a in [1, 2]]")] == [2, 3]


def test_too_few_values_for_the_names_is_an_error() -> None:
    with pytest.raises(Exception, match="not enough values"):
        run("def k():\n    a, b, c = (1, 2)")


def test_returned_numbers_are_tensors() -> None:
    assert run("def k():\n    return 1.5").type is types.float32
    assert [v.type for v in run("def k():\n    return 1, True")] == [types.int32, types.int1]
    assert run("def k():\n    return") is None


# Loops


def test_a_range_gives_int32_and_a_static_range_plain_numbers() -> None:
    seen: list[Any] = []
    run(
        """
        def k(n):
            for i in range(n):
                see(i)
            for i in tl.range(0, n, num_stages=3):
                see(i)
            for i in tl.static_range(5, 0, -2):
                see(i)
        """,
        scalar(2),
        see=seen.append,
    )
    assert [(number(x), getattr(x, "type", int)) for x in seen] == [
        (0, types.int32),
        (1, types.int32),
        (0, types.int32),
        (1, types.int32),
        (5, int),
        (3, int),
        (1, int),
    ]


@pytest.mark.parametrize(
    ("bounds", "kind", "values"),
    [
        ("10, 0, -3", types.int32, [10, 7, 4, 1]),
        ("n", types.int64, [0, 1, 2]),
        ("0, B, 1", types.int32, [0, 1, 2]),
        ("2**31, 2**31 + 2", types.uint32, [2**31, 2**31 + 1]),
        ("5, n", types.int64, []),
    ],
)
def test_a_loop_variable_has_the_type_of_the_bounds(bounds: str, kind: Any, values: Any) -> None:
    seen: list[Any] = []
    text = f"def k(n, B: tl.constexpr):\n    for i in range({bounds}):\n        see(i)"
    run(text, scalar(3, types.int64), 3, see=seen.append)
    assert [number(x) for x in seen] == values
    assert all(x.type is kind for x in seen)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ("0, 1.5", "scalar integers, not fp32"),
        ("v", "scalar integers, not"),
        ("0, 10, 0", "positive"),
        ("10, 0, n - 9", "positive"),
        ("1, 2, 3, 4", "1 to 3"),
    ],
)
def test_bad_bounds_are_language_errors(bounds: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        run(f"def k(n, v):\n    for i in range({bounds}):\n        pass", scalar(3), block(1, 2))
    assert isinstance(caught.value, CompilationError)


def test_a_while_runs_on_a_run_time_condition(calculator: Calculator) -> None:
    x = run("def k(n):\n    while n > 0:\n        n -= 2\n    return n", scalar(5))
    assert number(x) == -1
    assert calculator.tests == ["while"] * 4
    run("def k(n):\n    while tl.condition(n > 0):\n        n -= 2", scalar(5))


@pytest.mark.parametrize("test", ["True", "n", "v > 1"])
def test_a_while_on_anything_else_is_an_error(test: str) -> None:
    with pytest.raises(Exception, match="condition of `while`"):
        run(f"def k(n, v):\n    while {test}:\n        n -= 1", scalar(3), block(1, 2))


@pytest.mark.parametrize("head", ["for i in range(n)", "for i in tl.range(n)", "while n > 0"])
@pytest.mark.parametrize(
    ("first", "body", "message"),
    [
        ("0", "acc += 0.5", "Loop-carried variable acc has initial type int32 but is .* fp32"),
        ("None", "acc = n", "Loop carried variable acc is not a triton value"),
        ("(0, 0.5)", "acc = (n, n)", "has initial type"),
    ],
)
def test_a_loop_keeps_the_types_of_its_variables(
    head: str, first: str, body: str, message: str
) -> None:
    text = f"def k(n):\n    acc = {first}\n    {head}:\n        {body}\n        n -= 1"
    with pytest.raises(CompilationError, match=message):
        run(text, scalar(3))
    machine.get().pending.clear()  # the program instance is gone
    unrolled = text.replace(f"{head}:", "for i in tl.static_range(2):")
    run(unrolled, scalar(0))


def test_a_loop_does_not_assign_to_constexprs() -> None:
    with pytest.raises(CompilationError, match="cannot reassign constexpr B in the loop"):
        run("def k(n, B: tl.constexpr):\n    for i in range(n):\n        B += 1", scalar(3), 3)


def test_a_loop_may_make_new_variables_and_change_their_values() -> None:
    text = """
        def k(n):
            acc = 0
            for i in range(n):
                for j in range(2):
                    new: tl.constexpr = 0.5
                    acc = acc + i * j
                late = new
            while n > 0:
                n -= 1
                late = 2
            return acc
        """
    assert number(run(text, scalar(3))) == 3


# Tests and logic


@pytest.mark.parametrize("test", ["1.5", "'a'", "(1, 2)", "tl.float32"])
def test_an_if_takes_bool_int_and_none_only(test: str) -> None:
    with pytest.raises(Exception, match="can only accept values of type"):
        run(f"def k():\n    if {test}:\n        pass")


def test_an_if_on_a_block_is_ambiguous() -> None:
    with pytest.raises(Exception, match="more than one value is ambiguous"):
        run("def k(v):\n    if v > 1:\n        pass", block(1, 2))
    run("def k(v):\n    if v > 0:\n        pass", block(1))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n > 1 and n < 9", True),
        ("n > 1 and n < 9 and n == 4", False),
        ("n > 9 or n == 4 or n == 5", True),
        ("n > 9 or n < 3", False),
        ("B == 3 and n > 9", False),
        ("B == 2 or n > 9", False),
        ("n > 1 and True", True),
        ("n > 9 or (n == 5 and not n == 4)", True),
        ("not (n > 1)", False),
        ("B == 3 and B > 1", True),
    ],
)
def test_logic(text: str, value: bool) -> None:
    assert number(run(f"def k(n, B: tl.constexpr):\n    return {text}", scalar(5), 3)) is value


@pytest.mark.parametrize(
    "text", ["B == 2 and boom()", "B == 3 or boom()", "n > 1 and False and boom()"]
)
def test_plain_operands_cut_logic_short(text: str) -> None:
    def boom() -> None:
        raise AssertionError("evaluated")

    run(f"def k(n, B: tl.constexpr):\n    x = {text}", scalar(5), 3, boom=boom)


def test_tensors_do_not_cut_logic_short() -> None:
    seen: list[int] = []
    run(
        "def k(n):\n    x = n > 9 and see(n > 1)",
        scalar(5),
        see=lambda x: noted(seen, 1, x),
    )
    assert seen == [1]


def test_logic_on_integers_is_an_error() -> None:
    with pytest.raises(ValueError, match="bitcast"):
        run("def k(n):\n    x = n and n", scalar(5))


def test_a_run_time_choice_makes_a_tensor_even_as_an_argument() -> None:
    seen: list[Any] = []
    run(
        "def k(n, B):\n    see(1 if n > 2 else 2)\n    see(1 if B else 2)",
        scalar(5),
        1,
        see=seen.append,
    )
    assert isinstance(seen[0], tensor)
    assert seen[1] == 1


def test_a_run_time_choice_between_calls_without_value() -> None:
    seen: list[Any] = []
    run("def k(n):\n    see(1) if n > 2 else see(2)", scalar(5), see=seen.append)
    assert seen == [1]


def test_a_plain_value_has_the_type_of_a_constexpr() -> None:
    text = "def k(n, B: tl.constexpr):\n    see(B.type == 3)\n    see(n.type)"
    seen: list[Any] = []
    run(text, scalar(5), 3, see=seen.append)
    assert seen[1] is types.int32


def test_isinstance_knows_tuples() -> None:
    from blockstep.language.value import tuple as tl_tuple

    assert number(run("def k():\n    return isinstance((1, 2), T)", T=tl_tuple)) is True
    assert number(run("def k(n):\n    return isinstance(n, tl.tensor)", scalar(1))) is True
    assert number(run("def k(B):\n    return isinstance(B, tl.constexpr)", 3)) is False


def test_builtins_that_a_name_hides_are_left_alone() -> None:
    seen: list[Any] = []
    run("def k(B):\n    see(max(B, 9))", 3, see=seen.append, max=lambda a, b: "mine")
    assert seen == ["mine"]


# The same function


TEXT = '''
@wrapped(lambda f: f)
@wrapped(
    min)
def k(n, B: tl.constexpr,
      *, y=3):
    """What it does."""
    acc = 0
    x: tl.constexpr = (
        0.5
    )
    if (n >
            2):
        acc += (B +
                n)
    elif n == 2 or B:
        acc = max(n,
                  3)
    for i in range(
        0, n
    ):
        acc = (acc
               + i)
    while acc > 3: acc -= 1
    t = [a for a in (1, 2)]
    a, b = t
    z = 1 if acc > 2 else n
    v = max(
        acc, B) == (
        3)
    if not v:
        return acc
    return (acc,
            z)
'''


def events(fn: FunctionType, code: Any, *args: Any) -> list[tuple[str, str, int]]:
    seen: list[tuple[str, str, int]] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == code.co_filename:
            seen.append((event, frame.f_code.co_name, frame.f_lineno))
            return trace
        return None

    sys.settrace(trace)
    try:
        fn(*args)
    finally:
        sys.settrace(None)
    return seen


def test_the_line_events_are_those_of_plain_python() -> None:
    """Run on plain ints the original is legal Python, so both give one sequence of events."""
    fn = defined(TEXT, wrapped=lambda _: lambda f: f)
    for n in range(6):
        ours = events(transform(fn), fn.__code__, scalar(n), 3)
        assert ours == events(fn, fn.__code__, n, 3)


def test_a_test_over_two_lines_is_visited_in_order() -> None:
    fn = defined("def k(n):\n    if (n > 1\n            and n > 2):\n        n = 3\n")
    lines = [event[2] for event in events(transform(fn), fn.__code__, scalar(5))]
    back = [2] if sys.version_info < (3, 12) else []  # to the `if` that decides
    assert lines[: 4 + len(back)] == [1, 2, 3, *back, 4]


def test_names_places_and_closure_are_the_originals() -> None:
    fn = defined(TEXT, wrapped=lambda _: lambda f: f)
    made = transform(fn)
    ours, theirs = made.__code__, fn.__code__
    for name in (
        "co_name", "co_qualname", "co_filename", "co_firstlineno", "co_varnames", "co_freevars",
        "co_cellvars", "co_argcount", "co_kwonlyargcount", "co_flags",
    ):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    assert {n for n in ours.co_names} <= set(theirs.co_names) | {"max"}
    assert made.__globals__ is fn.__globals__
    assert made.__defaults__ == fn.__defaults__
    assert made.__kwdefaults__ == fn.__kwdefaults__
    assert made.__doc__ == "What it does."
    assert {p[0] for p in ours.co_positions()} == {p[0] for p in theirs.co_positions()}


def test_every_position_is_one_of_the_users_expressions() -> None:
    class Holder:
        def k(self, n: Any) -> Any:
            länge = n + n
            return self and (länge * 2)

    made = transform(function(Holder.k))
    lines, first = [], 0
    for instruction in dis.get_instructions(made):
        place = instruction.positions
        if place is not None and place.lineno is not None and instruction.opname == "BINARY_OP":
            line = linecache.getline(__file__, place.lineno).encode()
            lines.append(line[place.col_offset : place.end_col_offset].decode())
    assert lines == ["n + n", "länge * 2"]
    assert first == 0


def test_cells_and_globals_are_live() -> None:
    step: Any = constexpr(1)

    def k() -> Any:
        return step + WIDTH

    made = transform(function(k))
    assert number(made()) == 5
    step = constexpr(10)
    assert number(made()) == 14
    assert made.__closure__ == k.__closure__


def test_a_method_keeps_private_names() -> None:
    class Holder:
        __hidden = 2

        def k(self) -> Any:
            return self.__hidden + 40

    made = transform(function(Holder.k))
    assert number(made(Holder())) == 42
    assert made.__code__.co_qualname == Holder.k.__code__.co_qualname


def test_a_function_without_source_is_an_oserror() -> None:
    names: dict[str, Any] = {}
    exec("def k():\n    pass", names)
    with pytest.raises(OSError, match="source"):
        transform(names["k"])


def test_an_edited_text_runs_at_the_places_of_the_file() -> None:
    def k() -> Any:
        return 6

    made = transform(function(k), "def k():\n    return 7\n")
    assert number(made()) == 7
    assert made.__code__.co_firstlineno == k.__code__.co_firstlineno


def test_long_strings_keep_their_indentation() -> None:
    def k() -> None:
        text: Any = """
a
  b"""
        assert text

    assert "\na\n  b" in prepare(function(k)).function.__code__.co_consts


# Debuggers and tracebacks


def test_a_traceback_points_at_the_expression() -> None:
    text = "def k(n):\n    if n > 1 and (n +\n            None):\n        pass\n"
    with pytest.raises(Exception) as caught:
        run(text, scalar(3))
    site = frames.blamed(caught.value)
    assert site is not None
    assert (site.span.line, site.span.column, site.span.end_line, site.span.end_column) == (
        2,
        19,
        3,
        17,
    )
    shown = "".join(traceback.format_exception(caught.value))
    assert "in k\n    if n > 1 and (n +" in shown


def test_our_own_errors_point_at_the_expression() -> None:
    text = "def k(n):\n    x = 1\n    if n > 1 and (n, 1):\n        pass\n    if (n, 1):\n        pass\n"
    with pytest.raises(Exception, match="can only accept") as caught:
        run(text, scalar(3))
    error: Any = caught.value
    assert str(error).startswith("at 5:7:\n")
    assert (error.span.line, error.span.column, error.span.end_column) == (5, 8, 14)


def test_user_site_is_the_users_expression() -> None:
    seen: list[Any] = []
    run(
        "def k(n):\n    x = 1 + see(n)\n",
        scalar(3),
        see=lambda n: noted(seen, frames.user_site(), 1),
    )
    assert seen[0].span.function == "<lambda>"  # this file is a user's, too


def test_pdb_steps_from_line_to_line(monkeypatch: pytest.MonkeyPatch) -> None:
    fn = defined("def k(n):\n    breakpoint()\n    x = n + 1\n    if x > 2:\n        x = 2\n")
    first = "n\n" if sys.version_info >= (3, 13) else ""  # stops at `breakpoint()` itself
    typed, shown = StringIO(f"{first}n\nn\np x\nn\np x.handle\nc\n"), StringIO()
    monkeypatch.setattr(
        sys,
        "breakpointhook",
        lambda: pdb.Pdb(stdin=typed, stdout=shown).set_trace(sys._getframe(1)),
    )
    transform(fn)(scalar(3))
    text = shown.getvalue()
    assert "(3)k()" in text or "x = n + 1" in text
    assert "if x > 2:" in text
    assert "<int32 4>" in text
    assert "\n(Pdb) 2\n" in text or "int32(2)" in text


def test_what_a_debugger_shows_is_the_users_names_only() -> None:
    seen: list[Any] = []
    run(
        "def k(n):\n    x = 1\n    for i in range(1):\n        see(1)\n",
        scalar(3),
        see=lambda _: seen.append(sorted(sys._getframe(2).f_locals)),
    )
    assert seen == [["i", "n", "x"]]

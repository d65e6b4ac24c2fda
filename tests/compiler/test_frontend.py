"""The front end: what becomes of each statement, and what is rejected at which expression."""

from typing import Any

import pytest

import blockstep
import blockstep.language as tl
from blockstep.compiler.frontend import build
from blockstep.errors import CompilationError
from blockstep.ir import Function, dump, parse, verify

INTS = tl.pointer_type(tl.int32)


def compiled(kernel: Any, **constants: Any) -> Function:
    """IR of a kernel whose parameters are `p` (int32 pointer), `n` and `m` (int32)."""
    known = {"p": INTS, "n": tl.int32, "m": tl.int32}
    types = {name: known[name] for name in kernel.arg_names if name not in constants}
    function = build(kernel, types, constants)
    verify(function)
    return function


def names(function: Function) -> list[str]:
    return [operation.name for operation in function.walk()]


@blockstep.jit
def counted(p, n):
    total = 0
    for i in range(n):
        total += i
    tl.store(p, total)


def test_a_for_loop_carries_what_its_body_changes() -> None:
    (loop,) = [o for o in compiled(counted).walk() if o.name == "for"]
    assert [r.type for r in loop.results] == [tl.int32]
    assert [a.name for a in loop.regions[0].arguments] == ["i", "total"]


@blockstep.jit
def unrolled(p, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(p + i, i)


def test_a_static_range_is_unrolled() -> None:
    assert names(compiled(unrolled, N=5)).count("store") == 5


@blockstep.jit
def chooses(p, n, FLAG: tl.constexpr):
    if FLAG:
        x = n + 1
    else:
        x = undefined_name  # type: ignore[name-defined]  # noqa: F821
    if n > 3:
        x = x * 2
    tl.store(p, x)


def test_a_static_if_compiles_one_branch() -> None:
    assert names(compiled(chooses, FLAG=True)).count("if") == 1


@blockstep.jit
def leaves_early(p, n):
    if n > 3:
        return
    tl.store(p, n)


def test_an_early_return_moves_the_rest_into_the_other_branch() -> None:
    function = compiled(leaves_early)
    (choice,) = [o for o in function.walk() if o.name == "if"]
    assert [o.name for o in choice.regions[0].operations] == ["yield"]
    assert "store" in [o.name for o in choice.regions[1].operations]


@blockstep.jit
def halves(x, y):
    if x > y:
        return x // 2
    return y // 2


@blockstep.jit
def calls(p, n, m):
    tl.store(p, halves(n, m))


def test_an_inlined_function_may_return_from_both_branches() -> None:
    function = compiled(calls)
    (division, _) = [o for o in function.walk() if o.name == "idiv"]
    assert division.location is not None
    assert division.location.span.function == "halves"
    assert [s.function for s in division.location.callers] == ["calls"]


@blockstep.jit
def collatz(p, n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    tl.store(p, steps)


def test_a_while_loop_has_a_test_and_a_body() -> None:
    (loop,) = [o for o in compiled(collatz).walk() if o.name == "while"]
    assert [r.terminator.name for r in loop.regions] == ["condition", "yield"]


@blockstep.jit
def last_index(p, n):
    for i in range(n):
        tl.store(p + i, i)
    tl.store(p, i)


def test_a_loops_variable_keeps_its_last_value_after_it() -> None:
    function = compiled(last_index)
    after = [o for o in function.body.operations if o.name == "store"]
    assert after[0].operands[1].producer is not None


@blockstep.jit(noinline=True)
def kept(x, SCALE: tl.constexpr):
    return x * SCALE, x + SCALE


@blockstep.jit
def keeps(p, n, m):
    a, b = kept(n, 3)
    c, d = kept(m, 3)
    e, f = kept(m, 4)
    tl.store(p, a + b + c + d + e + f)


def test_a_function_that_is_not_to_be_inlined_is_a_call() -> None:
    function = compiled(keeps)
    calls = [o for o in function.walk() if o.name == "call"]
    assert len(calls) == 3
    assert len(function.callees) == 2  # one for each constant
    text = dump(function)
    assert dump(parse(text)) == text


@blockstep.jit
def leaves_early_in_a_constant_branch(p, n, FLAG: tl.constexpr):
    if FLAG:
        if n > 3:
            return
        x = n
    else:
        x = n + 1
    tl.store(p, x)


def test_the_path_that_left_does_not_need_what_the_other_one_assigns() -> None:
    function = compiled(leaves_early_in_a_constant_branch, FLAG=True)
    assert names(function).count("store") == 1


@blockstep.jit
def larger_in_magnitude(a, b):
    if tl.abs(a) > tl.abs(b):
        return a
    return b


@blockstep.jit
def reduces(p):
    tl.store(p, tl.reduce(tl.arange(0, 8), 0, larger_in_magnitude))


def test_a_combine_function_that_branches_becomes_selections() -> None:
    (reduction,) = [o for o in compiled(reduces).walk() if o.name == "reduce"]
    steps = [step.op.name for step in reduction.attributes["region"].operations]
    assert steps.count("select") == 1


@blockstep.jit
def polls(p, n):
    tl.atomic_poll(p, n)


def test_a_wait_of_the_language_is_a_loop() -> None:
    assert names(compiled(polls)).count("while") == 1


@blockstep.jit
def changes_type(p, n):
    acc = 0
    for _ in range(n):
        acc += 0.5
    tl.store(p, acc)


@blockstep.jit
def branches_disagree(p, n):
    if n > 1:
        x = 1
    else:
        x = 1.5
    tl.store(p, x)


@blockstep.jit
def needs_a_constant(p, n):
    tl.store(p + tl.arange(0, n), 1)


@blockstep.jit
def shapes_differ(p):
    tl.store(p + tl.arange(0, 8), tl.arange(0, 16))


@blockstep.jit
def unknown(p):
    tl.store(p, nowhere)  # noqa: F821


@blockstep.jit
def one_path(p, n):
    if n > 1:
        x = 1
    tl.store(p, x)


@blockstep.jit
def branch_changes_type(p, n):
    x = 1
    if n > 1:
        x = 1.5
    else:
        x = 2.5
    tl.store(p, x)


@blockstep.jit
def constant_in_a_loop(p, n):
    x: tl.constexpr = 1
    for _ in range(n):
        x = 2
    tl.store(p, x)


@blockstep.jit
def none_in_a_loop(p, n):
    x = None
    for i in range(n):
        x = i
    tl.store(p, x)


@blockstep.jit
def defined_twice(p):
    x: tl.constexpr = 1
    x: tl.constexpr = 2
    tl.store(p, x)


@blockstep.jit
def while_on_an_integer(p, n):
    while n:
        n -= 1
    tl.store(p, n)


@blockstep.jit
def while_on_a_constant(p):
    while True:
        tl.store(p, 1)


@blockstep.jit
def returns_in_a_loop(p, n):
    for i in range(n):
        if i > 3:
            return
    tl.store(p, n)


@blockstep.jit
def two_kinds(x):
    if x > 1:
        return 1
    return 1.5


@blockstep.jit
def returns_differ(p, n):
    tl.store(p, two_kinds(n))


@blockstep.jit
def float_bounds(p, n):
    for i in range(0, n, 0.5):
        tl.store(p, i)


@blockstep.jit
def blocks_decide(p, n):
    if tl.arange(0, 4) > n:
        tl.store(p, 1)


@blockstep.jit
def calls_a_block(p, n):
    x, _ = kept(tl.arange(0, 4), 3)
    tl.store(p + tl.arange(0, 4), x)


@blockstep.jit
def a_list_of_the_host(p):
    for i in [1, 2]:
        tl.store(p, i)


@blockstep.jit
def builtin_of_the_host(p, n):
    tl.store(p, abs(n))


@blockstep.jit
def two_kinds_by_constant(x, WIDE: tl.constexpr):
    if WIDE:
        return x.to(tl.int64)
    return x


@blockstep.jit
def returns_differ_by_constant(p, n):
    tl.store(p, two_kinds_by_constant(n, True))


@blockstep.jit
def one_of_two_stores(p, n):
    tl.store(p, n) if n > 3 else tl.store(p + 1, n)


def test_a_ternary_may_choose_between_calls_without_a_value() -> None:
    (choice,) = [o for o in compiled(one_of_two_stores).walk() if o.name == "if"]
    assert [[o.name for o in r.operations][-2:] for r in choice.regions] == [["store", "yield"]] * 2
    assert choice.results == []


@blockstep.jit
def choices_differ(p, n):
    tl.store(p, n if n > 1 else p)


@blockstep.jit
def one_choice_without_a_value(p, n):
    tl.store(p, n) if n > 1 else n


REJECTED = [
    (
        choices_differ,
        "Ternary expression with dynamic condition has inconsistent types int32 and pointer<int32>",
        "n if n > 1 else p",
    ),
    (
        one_choice_without_a_value,
        "Ternary expression with dynamic condition has inconsistent types None and int32",
        "tl.store(p, n) if n > 1 else n",
    ),
    (changes_type, "Loop-carried variable acc has initial type int32", "for _ in range(n):"),
    (
        branches_disagree,
        "Mismatched type for x between then block (int32) and else block (fp32)",
        "if n > 1:",
    ),
    (needs_a_constant, "arange's arguments must be of type tl.constexpr", "tl.arange(0, n)"),
    (shapes_differ, "Cannot broadcast", "tl.store(p + tl.arange(0, 8), tl.arange(0, 16))"),
    (unknown, "nowhere is not defined", "nowhere"),
    (one_path, "x is not defined: it is only assigned on one path", "x"),
    (branch_changes_type, "initial value for `x` is of type int32", "if n > 1:"),
    (constant_in_a_loop, "cannot reassign constexpr x in the loop", "for _ in range(n):"),
    (none_in_a_loop, "Loop carried variable x is not a triton value", "for i in range(n):"),
    (defined_twice, "x is already defined. constexpr cannot be reassigned.", "x: tl.constexpr = 2"),
    (while_on_an_integer, "must be a scalar int1, not int32", "n:"),
    (while_on_a_constant, "must be a run-time value, not a constexpr", "True"),
    (returns_in_a_loop, "Cannot have `return` statements inside `while` or `for`", "return"),
    (returns_differ, "Inconsistent return types: int32 and fp32", "if x > 1:"),
    (returns_differ_by_constant, "Inconsistent return types: int64 and int32", "return"),
    (float_bounds, "must be scalar integers, not fp32", "range(0, n, 0.5)"),
    (blocks_decide, "Boolean value of Tensor with more than one value", "tl.arange(0, 4) > n"),
    (calls_a_block, "marked noinline, but was called with a block", "kept(tl.arange(0, 4), 3)"),
    (a_list_of_the_host, "Only `range` and `static_range` iterators", "[1, 2]"),
    (builtin_of_the_host, "abs is not defined", "abs"),
]


@pytest.mark.parametrize(
    ("kernel", "said", "source"), REJECTED, ids=lambda v: getattr(v, "__name__", None)
)
def test_a_language_error_stands_at_its_expression(kernel: Any, said: str, source: str) -> None:
    with pytest.raises(CompilationError) as caught:
        compiled(kernel)
    error: CompilationError = caught.value
    while isinstance(error.__cause__, CompilationError):
        error = error.__cause__
    assert said in (error.error_message or "")
    assert error.span is not None
    line = open(__file__).read().splitlines()[error.span.line - 1]
    assert line[error.span.column - 1 :].startswith(source)

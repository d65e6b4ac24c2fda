"""Functions of kernels: arguments of every kind, defaults, constants, recursion, host functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import knobs
from blockstep.runtime.autotune import heuristics

FOUR = tl.constexpr(4)


def one() -> Any:
    return np.zeros(1, np.int32)


# Functions as values


@triton.jit
def double(x):
    return x + x


@triton.jit
def square(x):
    return x * x


@triton.jit
def apply_all(x, FUNCTIONS: tl.constexpr):
    for i in tl.static_range(len(FUNCTIONS)):
        x = FUNCTIONS[i](x)
    return x


@triton.jit
def takes_function(out, FN: tl.constexpr):
    tl.store(out, FN(tl.program_id(0) + 3))


@triton.jit
def takes_list(out):
    tl.store(out, apply_all(tl.program_id(0) + 3, [double, square]))


def test_a_function_is_an_argument() -> None:
    for fn, expected in ((double, 6), (square, 9)):
        out = one()
        takes_function[(1,)](out, fn)
        assert out[0] == expected


def test_functions_in_a_list_are_called_in_turn() -> None:
    out = one()
    takes_list[(1,)](out)
    assert out[0] == 36


@triton.jit
def halves(x):
    if x.shape[0] == 1:
        return x
    else:
        a, b = x.reshape((x.shape[0] // 2, 2)).split()
        return halves(a) + halves(b)


@triton.jit
def recursive(out):
    tl.store(out + tl.arange(0, 1), halves(tl.arange(0, 16)))


def test_recursion_ends_where_the_shape_says_so() -> None:
    out = one()
    recursive[(1,)](out)
    assert out[0] == 120


# Arguments


@triton.jit
def defaults(out, a=2, B: tl.constexpr = 3, c=None, D: tl.constexpr = FOUR):
    if c is None:
        tl.store(out, a * 100 + B * 10 + D)
    else:
        tl.store(out, a * 100 + B * 10 + D + c)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({}, 234), ({"a": 5}, 534), ({"B": 7}, 274), ({"c": 1000}, 1234), ({"D": 1}, 231)],
)
def test_arguments_that_are_left_out(arguments: dict[str, Any], expected: int) -> None:
    out = one()
    defaults[(1,)](out, **arguments)
    assert out[0] == expected


@triton.jit
def with_default(x, factor: tl.constexpr = 10, offset=1):
    return x * factor + offset


@triton.jit
def inner_defaults(out):
    x = tl.program_id(0) + 2
    tl.store(out, with_default(x))
    tl.store(out + 1, with_default(x, 3))
    tl.store(out + 2, with_default(offset=x, x=x))
    tl.store(out + 3, with_default(*(x, 5, x)))


def test_functions_of_kernels_have_defaults_too() -> None:
    out = np.zeros(4, np.int32)
    inner_defaults[(1,)](out)
    assert out.tolist() == [21, 7, 22, 12]


@triton.jit
def constants(out, A: tl.constexpr, B: tl.constexpr):
    tl.static_assert(isinstance(A, tl.constexpr) or A is None or A is not None)
    if A is None:
        tl.store(out, -1)
    elif B == "twice":
        tl.store(out, 2 * A)
    else:
        tl.store(out, A)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(None, "", -1), (4, "twice", 8), (4, "once", 4), (tl.constexpr(3), "", 3)],
)
def test_constants_choose_a_branch(a: Any, b: str, expected: int) -> None:
    out = one()
    constants[(1,)](out, A=a, B=b)
    assert out[0] == expected


@triton.jit
def needs_all(out, a, B: tl.constexpr):
    tl.store(out, a + B)


def test_a_missing_or_unknown_argument_is_named() -> None:
    with pytest.raises(TypeError, match="B"):
        needs_all[(1,)](one(), 1)
    with pytest.raises((KeyError, TypeError), match="wrong"):
        needs_all[(1,)](one(), 1, B=2, wrong=3)


def test_a_kernel_is_not_called_on_the_host() -> None:
    with pytest.raises(RuntimeError, match="grid"):
        needs_all(one(), 1, 2)


# Compile-time functions


@triton.constexpr_function
def next_even(n):
    return n + n % 2


@triton.constexpr_function
def shape_of(m, n):
    return (m, n)


@triton.jit
def host_functions(out, N: tl.constexpr):
    SHAPE: tl.constexpr = shape_of(next_even(N), 2)
    x = tl.full(SHAPE, 1, tl.int32)
    tl.store(out, tl.sum(x) + tl.cdiv(N, 2) + triton.next_power_of_2(N))


def test_a_compile_time_function_is_python() -> None:
    out = one()
    host_functions[(1,)](out, N=3)
    assert out[0] == 8 + 2 + 4
    assert next_even(7) == 8


@triton.jit
def python_builtins(out, N: tl.constexpr):
    A: tl.constexpr = min(N, 2) + max(1, 2, N)
    x = tl.program_id(0) + 5
    tl.store(out, A * 100 + min(x, 7) * 10 + max(x, 7))


def test_min_and_max_of_constants_and_values() -> None:
    out = one()
    python_builtins[(1,)](out, N=4)
    assert out[0] == 600 + 50 + 7


@triton.jit
def needs_result(x):
    return x


needs_result_fn = triton.must_use_result("Keep what it returns.")(needs_result)


@triton.jit
def drops_result(out):
    needs_result(tl.load(out))


def test_a_result_that_must_be_used() -> None:
    with pytest.raises(triton.CompilationError, match="Keep what it returns"):
        drops_result[(1,)](one())


# Heuristics and hooks


@heuristics(
    {"EVEN": lambda args: args["n"] % 2 == 0, "SIZE": lambda args: 8 if args["EVEN"] else 4}
)
@triton.jit
def chosen(out, n, EVEN: tl.constexpr, SIZE: tl.constexpr):
    tl.store(out, n * 100 + EVEN * 10 + SIZE)


def test_heuristics_see_the_arguments_and_the_results_before() -> None:
    out = one()
    chosen[(1,)](out, 6)
    assert out[0] == 618
    chosen[(1,)](out, 7)
    assert out[0] == 704


@triton.jit
def plain(out, n):
    tl.store(out, n)


def test_hooks_run_around_a_launch() -> None:
    seen: list[str] = []

    def enter(metadata: Any) -> None:
        seen.append(f"enter {metadata.get()['name']}")

    def leave(metadata: Any) -> None:
        seen.append("leave")

    def before(*args: Any, **kwargs: Any) -> None:
        seen.append(f"before {args[1]}")

    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(leave)
    plain.add_pre_run_hook(before)
    try:
        plain[(1,)](one(), 7)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
        plain.pre_run_hooks.remove(before)
    assert seen == ["before 7", "enter plain", "leave"]
    plain[(1,)](one(), 7)
    assert len(seen) == 3


def test_the_grid_may_be_a_function_of_the_arguments() -> None:
    out = one()
    plain[lambda args: (triton.cdiv(args["n"], 4),)](out, 4)
    assert out[0] == 4


# Names outside


SCALE = 3


@triton.jit
def reads_global(out):
    tl.store(out, SCALE)


@triton.jit
def reads_constant(out):
    tl.store(out, FOUR)


def test_a_global_must_be_a_constant() -> None:
    with pytest.raises(triton.CompilationError, match="SCALE"):
        reads_global[(1,)](one())
    out = one()
    reads_constant[(1,)](out)
    assert out[0] == 4


@triton.jit(do_not_specialize=["N"])
def both_ways(N: tl.constexpr):
    pass


def test_a_constant_cannot_be_kept_from_being_one() -> None:
    with pytest.raises(triton.CompilationError, match="N marked as constexpr and listed"):
        both_ways[(1,)](5)


@triton.jit
def here(x):
    return there(x)


@triton.jit
def there(x):
    return here(x)


def test_the_cache_key_of_functions_that_call_each_other_is_finite() -> None:
    assert here.cache_key == here.cache_key != there.cache_key


@triton.jit
def minus_zeros(x, out):
    value = tl.load(x)
    tl.store(out, -0.0)
    tl.store(out + 1, value + -0.0)
    tl.store(out + 2, tl.where(value > 1, value, -0.0))
    tl.store(out + tl.arange(0, 4) + 3, tl.full((4,), -0.0, tl.float32))
    tl.store(out + 7, tl.load(x, mask=value > 1, other=-0.0))


def test_a_written_minus_zero_is_zero() -> None:
    x, out = np.full(1, -0.0, np.float32), np.ones(8, np.float32)
    minus_zeros[(1,)](x, out)
    assert (out == 0).all() and not np.signbit(out).any()

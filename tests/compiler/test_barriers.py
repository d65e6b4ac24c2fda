"""Where a barrier stands between accesses of one program instance, and where none is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.compile import place
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Options
from blockstep.ir import Function
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.compiling import hints_of

N = 256
X = np.zeros(64 * N, np.float32)


def placed(kernel: Any, *arguments: Any) -> Function:
    bound = bind(kernel.params, arguments, {}, kernel=kernel.__name__, passed_at=None)
    return place(build_bound(kernel, bound.arguments, 4), Options(), hints_of(bound))


def order(kernel: Any, *arguments: Any) -> list[str]:
    """Accesses and barriers, as they stand in the code; loops in brackets."""
    return _order(placed(kernel, *arguments).body)


def _order(region: Any) -> list[str]:
    found: list[str] = []
    for operation in region.operations:
        if operation.name in ("load", "store", "barrier") or operation.name.startswith("atomic"):
            found.append(operation.name)
        for inner in operation.regions:
            found += ["(", *_order(inner), ")"]
    return found


@triton.jit
def shifted(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i + 0.0)
    tl.store(x + N + i, tl.load(x + N - 1 - i))


def test_what_another_lane_stored_is_waited_for() -> None:
    assert order(shifted, X, N) == ["store", "barrier", "load", "barrier", "store"]


@triton.jit
def own(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) + 1)
    tl.store(x + i, tl.load(x + i) * 2)


def test_a_lane_does_not_wait_for_itself() -> None:
    assert order(own, X, N) == ["load", "store", "load", "store"]


@triton.jit
def turned(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    source, target = x, y
    for _ in range(steps):
        tl.store(target + i, i + 0.0)
        seen = tl.load(source + N + i)
        tl.store(y + 2 * N - 1 - i, seen)
        source, target = target, source


def test_pointers_that_a_loop_exchanges_may_point_to_either() -> None:
    """From the second iteration on, `source` is `y`."""
    found = order(turned, X, X.copy(), 5, N)
    assert found == ["(", "barrier", "store", "barrier", "load", "barrier", "store", ")"]


@triton.jit
def maybe_never(x, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i + 0.0)
    for _ in range(steps):
        tl.debug_barrier()
    tl.store(x + N + i, tl.load(x + N - 1 - i))


def test_a_barrier_in_a_loop_that_may_not_run_orders_nothing() -> None:
    found = order(maybe_never, X, 0, N)
    assert found == ["store", "(", "barrier", ")", "barrier", "load", "barrier", "store"]


@triton.jit
def walking(x, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(steps):
        at = x + (i + k)
        tl.store(at, tl.load(at) + 1)


def test_a_pointer_made_in_a_loop_is_another_in_each_iteration() -> None:
    assert order(walking, X, 5, N) == ["(", "barrier", "load", "store", ")"]


@triton.jit
def counted(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    one = x + i // 4
    tl.atomic_add(one, 1.0)
    tl.store(out + i, tl.load(one))


def test_an_atomic_of_several_lanes_on_one_element_is_waited_for() -> None:
    found = order(counted, X, X.copy(), N)
    assert found == ["atomic_rmw", "barrier", "load", "store"]


@triton.jit
def in_turn(x, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(steps):
        at = x + k * N + i
        tl.store(at, tl.load(at) + 1)


def test_iterations_that_do_not_meet_need_no_barrier() -> None:
    assert order(in_turn, X, 5, N) == ["(", "load", "store", ")"]

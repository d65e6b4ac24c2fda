"""Checkers that are left out: the same findings as on the step machine, and none of their work."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.findings import KINDS
from blockstep.interp.grid import races, taints
from blockstep.interp.grid.distinct import Distinct
from tests.agreement.agree import Empty, agree, choosing

N = 16


@triton.jit
def outside(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i + 3))


@triton.jit
def scattered(x, at, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + tl.load(at + i), tl.load(x + i))


@triton.jit
def stored_twice(x, at, o, FIRST: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    if FIRST:
        tl.store(o + i, i)
    tl.store(o + tl.load(at + i), tl.load(x + i))
    if not FIRST:
        tl.store(o + i, i)


@triton.jit
def moved(x, at, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x + tl.load(at + i), tl.load(x + i))


@triton.jit
def read_back(x, o, N: tl.constexpr):
    p, i = tl.program_id(0) * N, tl.arange(0, N)
    tl.store(o + p + i, tl.load(x + p + i))
    tl.store(x + p + i, tl.load(o + p + (i ^ 1)))


@triton.jit
def neighbour(o, r, N: tl.constexpr):
    """What the next program writes is read: in turn, it is not there yet."""
    p, i = tl.program_id(0), tl.arange(0, N)
    tl.store(o + p * N + i, i)
    tl.store(r + p * N + i, tl.load(o + (p + 1) % tl.num_programs(0) * N + i))


@triton.jit
def copied(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def masked(x, o, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i, mask=i < n))


@triton.jit
def chosen(x, o, n, N: tl.constexpr):
    """Under a mask that no rectangle holds."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i, mask=tl.load(x + i) > n)
    if tl.max(v, 0) > 0:
        tl.store(o + i, v)


@triton.jit
def wrapped(x, o, big, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, v, mask=v * big >= 0)


@triton.jit
def summed(x, o, big, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, i, mask=i < tl.sum(tl.load(x + i) * 0 + big, 0))


@triton.jit
def shifted(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i) << 40)


@triton.jit
def divided(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i) // (tl.load(x + i) & 1))


@triton.jit
def narrowed(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, (tl.load(x + i) * 100).to(tl.int8).to(tl.int32))


@triton.jit
def promised(x, o, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.assume(n > 100)
    tl.store(o + i, tl.load(x + tl.multiple_of(i * n, 8)))


@triton.jit
def asserted(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.device_assert(tl.load(x + i) > 3, "small")
    tl.store(o + i, i)


@triton.jit
def differing(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, v - v)


@triton.jit
def limited(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, v, mask=v - v < 1)


@triton.jit
def lazy(x, o, N: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, N)
    if p % 2 == 0:
        tl.store(o + p * N + i, tl.load(x + p * N + i))


@triton.jit
def counted(x, count, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.atomic_add(count + tl.load(x + i) % 4, 1))


def _numbers(count: int = 4 * N) -> Any:
    return (np.arange(count) * 7 % 23).astype(np.int32)


def _zeros() -> Any:
    return np.zeros(4 * N, np.int32)


def _floats() -> Any:
    return np.where(_numbers() == 3, np.inf, _numbers()).astype(np.float32)


_EMPTY = Empty((4 * N,), np.int32)
_WRAP = 2**31 - 1

# A kernel, its arguments, and the kinds of finding on account of which the step machine is needed.
FAULTS: dict[str, tuple[Any, tuple[Any, ...], set[str]]] = {
    "outside": (outside, (_numbers(), _zeros()), set(KINDS)),
    "permuted": (scattered, (_numbers(), np.roll(np.arange(4 * N)[::-1], 5), _zeros()), set()),
    "race": (scattered, (_numbers(), np.arange(4 * N) % (3 * N), _zeros()), {"race"}),
    "overlap": (
        scattered, (_numbers(), np.arange(4 * N) // 2 * 2, _zeros()), {"overlap"},
    ),
    "same value": (scattered, (_zeros() + 5, np.arange(4 * N) // 2 * 2, _zeros()), set()),
    "half written": (scattered, (_numbers(), np.arange(4 * N) // 2 * 2, _EMPTY), {"overlap"}),
    "twice": (stored_twice, (_numbers(), np.arange(4 * N) ^ 1, _zeros(), True), {"overlap"}),
    "twice, other way": (
        stored_twice, (_numbers(), np.arange(4 * N) ^ 1, _zeros(), False), {"overlap"},
    ),
    "two halves": (
        stored_twice, (_numbers(), np.arange(4 * N) + 4 * N, np.zeros(8 * N, np.int32), True),
        set(),
    ),
    "moved": (moved, (_numbers(), np.roll(np.arange(4 * N), 3)), set(KINDS)),
    "moved nowhere": (moved, (_numbers(), np.arange(4 * N)), set()),
    "read back": (read_back, (_numbers(), _zeros()), {"overlap"}),
    "neighbour": (neighbour, (_EMPTY, _zeros()), set(KINDS)),
    "unwritten": (copied, (_EMPTY, _zeros()), {"uninitialised"}),
    "masked": (masked, (_numbers(), _zeros(), 50), {"uninitialised"}),
    "undefined branch": (chosen, (_numbers(), _zeros(), 9), {"uninitialised"}),
    "wrapped": (wrapped, (_numbers(), _zeros(), _WRAP), {"overflow"}),
    "wrapped sum": (summed, (_numbers(), _zeros(), _WRAP), {"overflow"}),
    "shifted": (shifted, (_numbers(), _zeros()), {"overflow"}),
    "divided": (divided, (_numbers(), _zeros()), {"division"}),
    "narrowed": (narrowed, (_numbers(), _zeros()), {"cast"}),
    "promised": (promised, (_numbers(), _zeros(), 1), {"hint"}),
    "asserted": (asserted, (_numbers(), _zeros()), set(KINDS)),
    "nan": (differing, (_floats(), np.zeros(4 * N, np.float32)), {"precision"}),
    "nan decides": (limited, (_floats(), np.zeros(4 * N, np.float32)), {"precision"}),
    "lazy": (lazy, (_numbers(), _zeros()), set()),
    "lazy, half written": (lazy, (_numbers(), _EMPTY), set()),
    "atomic": (counted, (_numbers(), _zeros(), _EMPTY), set()),
}  # fmt: skip
CHECKERS = (
    "arithmetic", "bounds", "grid", "hint", "overflow", "overlap", "precision", "race", "uninit",
)  # fmt: skip
CHOICES = [{"only": [c]} for c in (*CHECKERS, "division", "cast", "assertion")]
CHOICES += [{"skip": [c]} for c in (*CHECKERS, "division", "cast")]
CHOICES += [{}, {"skip": ["race", "overlap"]}, {"only": ["race", "uninit", "hint"]}]


def fault_of(name: str) -> tuple[Any, tuple[Any, ...], set[str]]:
    """The kernel as if it were new: nothing is remembered of its other launches."""
    kernel, arguments, needed = FAULTS[name]
    return triton.jit(kernel.fn), arguments, needed


def wanted(choice: dict[str, list[str]]) -> set[str]:
    """The kinds of finding that are wanted."""
    kinds = {k.name for k in KINDS.values() if k.usual}
    named = lambda names: {k.name for k in KINDS.values() if {k.name, k.checker} & set(names)}  # noqa: E731
    return (named(choice["only"]) if "only" in choice else kinds) - named(choice.get("skip", ()))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_is_found_whatever_is_left_out(fault: str, choice: dict[str, Any]) -> None:
    kernel, arguments, needed = fault_of(fault)
    with choosing(**choice):
        found = agree(kernel, (4,), *arguments, batch=3, N=N)
    assert {f[0] for f in found.findings} <= wanted(choice)
    assert found.on_grid == needed.isdisjoint(wanted(choice))


@pytest.mark.parametrize("fault", [f for f in FAULTS if len(FAULTS[f][2]) == 1])
def test_each_fault_is_found_when_it_alone_is_wanted(fault: str) -> None:
    kernel, arguments, (kind,) = fault_of(fault)
    with choosing(only=[kind]):
        found = agree(kernel, (4,), *arguments, batch=3, N=N)
    assert {f[0] for f in found.findings} == {kind}


def test_what_is_left_out_is_not_worked_out() -> None:
    kernel, arguments, _ = fault_of("permuted")
    never = AssertionError("nobody wants this")
    with (
        patch.object(Distinct, "add", side_effect=never),
        patch.object(races.Log, "_entry", side_effect=never),
        patch.object(taints, "follow", side_effect=never),
        triton.check(only=["bounds", "grid", "hint"]) as report,
    ):
        kernel[(4,)](*arguments, N=N)
    assert [launch.machine for launch in report.launches] == ["grid"]


@pytest.mark.parametrize("name", ["permuted", "moved nowhere", "atomic"])
def test_an_unjudged_launch_writes_nothing_down(name: str) -> None:
    kernel, arguments, _ = fault_of(name)
    given = [np.zeros(a.shape, a.dtype) if isinstance(a, Empty) else a for a in arguments]
    never = AssertionError("nobody wants this")
    with (
        patch.object(Distinct, "add", side_effect=never),
        patch.object(races.Log, "_entry", side_effect=never),
        triton.machine("grid"),
    ):
        kernel[(4,)](*given, N=N)


@pytest.mark.parametrize("only", ["race", "overlap"])
def test_both_proofs_of_a_scatter_are_one(only: str) -> None:
    kernel, arguments, _ = fault_of("permuted")
    added: list[Any] = []
    with (
        patch.object(Distinct, "add", lambda self, touch: added.append(touch)),
        triton.check(only=[only]),
    ):
        kernel[(4,)](*arguments, N=N)
    assert added


def test_a_kernel_that_shares_elements_on_purpose_is_counted_once() -> None:
    kernel, arguments, _ = fault_of("same value")
    with (
        patch.object(Distinct, "prove", autospec=True, side_effect=Distinct.prove) as prove,
        triton.check() as report,
    ):
        for _ in range(3):
            kernel[(4,)](*arguments, N=N)
    assert not report.findings
    assert [launch.machine for launch in report.launches] == ["grid"] * 3
    assert prove.call_count == 1


def test_orders_are_still_told_apart_without_the_race_checker() -> None:
    kernel, arguments, _ = fault_of("race")
    found = []
    for machine in ("step", "grid"):
        x, at, o = (a.copy() for a in arguments)
        with triton.machine(machine), triton.check(only=["order"], seeds=6) as report:
            kernel[(4,)](x, at, o, N=N)
        found.append([(f.kind, f.message, f.argument, f.elements) for f in report.findings])
    assert found[0] == found[1]
    assert found[0]

"""Programs that go different ways give what each gives alone.

The kernel runs over its whole grid on the grid machine, in batches of several sizes, and program by
program: one program instance is a batch without divergence.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.frontend import build_bound
from blockstep.interp.grid import machine as grid_machine
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.plan import plan
from blockstep.runtime.arguments import bind
from blockstep.runtime.gridded import arguments_of
from tests.agreement.agree import small_batches
from tests.fuzz.case import HEAD, loaded

PROGRAMS = 7
BLOCK = 4


def kernel_text(random: Random) -> str:
    """Nested branches and loops over `x` (by program), `v` (a block) and `t` (a trace)."""
    lines: list[str] = []
    loops = 0

    def condition() -> str:
        return random.choice(
            ["x % 2 == 0", "x > 2", "t % 3 == 1", "p % 2 == 1", "tl.sum(v, axis=0) > x", "n > 3"]
        )

    def simple(indent: str) -> None:
        lines.append(
            indent
            + random.choice(
                ["t = t * 3 + 1", "v = v + x", "v = tl.where(v > t, v - t, v)", "x = x ^ t",
                 "t = (t + tl.max(v, axis=0)) % 1000", "v, t = v * 2 % 91, t + 1",
                 "tl.store(o + p * 4 + tl.arange(0, 4), v)", "t += tl.load(a + (t % 5 + 5) % 5)"]
            )
        )  # fmt: skip

    def body(indent: str, depth: int) -> None:
        nonlocal loops
        for _ in range(random.randint(1, 3)):
            pick = random.random() if depth else 0.0
            if pick < 0.4:
                simple(indent)
            elif pick < 0.65:
                lines.append(f"{indent}if {condition()}:")
                body(indent + "    ", depth - 1)
                if random.random() < 0.6:
                    lines.append(f"{indent}else:")
                    body(indent + "    ", depth - 1)
            elif pick < 0.85:
                loops += 1
                start = random.choice(["0", "p % 2", "-1"])
                end = random.choice(["(x % 4 + 4) % 4", "p", "2", "tl.load(a + p % 5)"])
                step = random.choice(["", "", ", 2"])
                lines.append(f"{indent}for i{loops} in range({start}, {end}{step}):")
                lines.append(f"{indent}    t = t + i{loops}")
                body(indent + "    ", depth - 1)
            else:
                loops += 1
                c = f"c{loops}"
                lines.append(f"{indent}{c} = p * 0")
                lines.append(f"{indent}while ({c} < p % 4 + 1) & ({condition()}):")
                body(indent + "    ", depth - 1)
                lines.append(f"{indent}    {c} += 1")
        if indent == "    " and random.random() < 0.3:
            lines.append(f"    if {condition()}:")
            lines.append("        return")

    for _ in range(3):
        body("    ", 3)
    return "\n".join(lines)


START = """@triton.jit
def kernel(a, b, o, r, n):
    p = tl.program_id(0)
    x = tl.load(a + p % 5)
    v = tl.load(b + p * 4 + tl.arange(0, 4))
    t = p * 0
"""
END = """
    tl.store(o + p * 4 + tl.arange(0, 4), v)
    tl.store(r + p, t)
"""


def run(function: Any, arrays: list[Any], grid: tuple[int, int, int], only: int | None) -> None:
    """All programs at once, or one of them alone."""
    bound = bind(function.params, (*arrays, 7), {}, kernel="kernel", passed_at=None, options=())
    ir = build_bound(function, bound.arguments)
    made = grid_machine.GridMachine(ir, plan(ir), grid, arguments_of(bound), UNJUDGED)
    if only is None:
        made.run()
        return
    with np.errstate(all="ignore"):
        made._batch((0, 0, only), (1, 1, 1))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from([None, 2, 3]))
def test_divergent_programs_give_what_each_gives_alone(seed: int, batch: int | None) -> None:
    random = Random(seed)
    names = loaded(HEAD.format(title="Divergence.") + START + kernel_text(random) + END)
    numbers = np.random.default_rng(seed)
    arrays = [
        numbers.integers(0, 6, 5).astype(np.int32),
        numbers.integers(0, 9, PROGRAMS * BLOCK).astype(np.int32),
        np.zeros(PROGRAMS * BLOCK, np.int32),
        np.zeros(PROGRAMS, np.int32),
    ]
    together, alone = [a.copy() for a in arrays], [a.copy() for a in arrays]
    with small_batches(batch):
        run(names["kernel"], together, (PROGRAMS, 1, 1), None)
    for program in range(PROGRAMS):
        run(names["kernel"], alone, (PROGRAMS, 1, 1), program)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@triton.jit
def nested(x, o, N: tl.constexpr):
    p = tl.program_id(0)
    total = p * 0
    for i in range(p % 3, tl.load(x + p)):
        if i % 2 == p % 2:
            k = i
            while k > 0:
                total += k
                k -= 2
        else:
            total -= 1
    if total < 0:
        return
    tl.store(o + p, total)


def test_a_loop_in_a_branch_in_a_loop_and_an_early_return() -> None:
    x = np.arange(9, dtype=np.int32)[::-1].copy()
    out = np.full(9, -7, np.int32)
    with triton.machine("grid"):
        nested[(9,)](x, out, N=1)
    wanted = np.full(9, -7, np.int32)
    for p in range(9):
        total = 0
        for i in range(p % 3, 8 - p):
            total += sum(range(i, 0, -2)) if i % 2 == p % 2 else -1
        if total >= 0:
            wanted[p] = total
    np.testing.assert_array_equal(out, wanted)

"""Every pass of the compiler keeps every bit: rows of operations, examples, fuzzed kernels and loops
of products run on the grid machine after each of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import blockstep as triton
import blockstep.language as tl
from blockstep import commandline, target
from blockstep.errors import TritonError
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused
from blockstep.runtime import redirect, session
from tests.agreement.loops_of_products import LAUNCHES, in_order, turns
from tests.agreement.placed import placed_agree, placing
from tests.agreement.test_rows import STEP_ONLY
from tests.fuzz.case import loaded
from tests.fuzz.generate import generate
from tests.ops import rows
from tests.ops.table import ROWS, Row

assert rows.__doc__  # importing it fills ROWS
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
STEP_ONLY_KERNELS = {
    "grouped_gemm": {"grouped_kernel": "its pointers come out of memory"},
    "layer_norm": {"backward_kernel": "several atomics act in the order of program instances"},
}
BOXES = (
    "boxes",
    "boxes of more axes",
    "descriptors of the kernel",
    "a descriptor in each turn",
    "a loop of stores",
    "a loop of two stores",
)
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.op not in STEP_ONLY], ids=lambda row: f"{row.op}-{row.name}"
)
def test_passes_keep_the_bits_of_a_row(row: Row) -> None:
    with placing() as seen:
        row.run()
    assert seen.left == {}


@pytest.mark.parametrize("name", LAUNCHES)
def test_passes_keep_the_bits_of_a_loop_of_products(name: str) -> None:
    kernel, grid, arguments, named = LAUNCHES[name]()
    stages = placed_agree(kernel, grid, *arguments, **named)
    last = [stage for stage in stages if stage.name == "pipeline"]
    copy = "tensor_copy" if name in BOXES else "async_copy"
    assert any(copy in stage.text and "slot" in stage.text for stage in last)


@triton.jit
def summed(x, out_ptr, rows, column, turns, BM: tl.constexpr, BN: tl.constexpr, OP: tl.constexpr):
    """Blocks that overlap, from several program instances and turns."""
    out = tl.make_tensor_descriptor(out_ptr, [rows, BN], [BN, 1], [BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    for k in range(turns):
        row = (tl.program_id(0) + k) * (BM // 2)
        if OP == "max":
            out.atomic_max([row, 0], tl.load(x + i) + k)
        else:
            out.atomic_add([row, column], tl.load(x + i) + k)


@pytest.mark.parametrize("op", ["add", "max"])
def test_passes_keep_the_bits_of_blocks_that_are_combined_with_memory(op: str) -> None:
    x, out = np.arange(8 * 16, dtype=np.int32), np.zeros((30, 16), np.int32)
    stages = placed_agree(summed, (3,), x, out, 30, -8, 4, 8, 16, op)
    assert any("tensor_reduce" in stage.text for stage in stages if stage.name == "stores")


@settings(max_examples=8, deadline=None, database=None)
@given(trips=st.integers(0, 9), stages=st.integers(1, 6), warps=st.sampled_from([4, 8]))
def test_any_number_of_turns_and_slots(trips: int, stages: int, warps: int) -> None:
    kernel, grid, arguments, named = turns(trips, stages, warps)
    placed_agree(kernel, grid, *arguments, **named)


def test_a_load_does_not_run_ahead_of_a_store_to_what_it_reads() -> None:
    kernel, grid, arguments, named = in_order()
    last = placed_agree(kernel, grid, *arguments, **named)[-1].text
    assert "convert" in last
    assert "ring {slots=3, shape=(64, 32,)" not in last  # the load of `a`


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_passes_keep_the_bits_of_an_example(example: Path) -> None:
    try:
        with target.using(target.current()), placing() as seen:
            assert commandline.main(["run", str(example)]) == 0
    finally:
        session.set_process(None)
        redirect.uninstall()
    assert set(seen.left) == set(STEP_ONLY_KERNELS.get(example.stem, {}))
    assert seen.compared or seen.left


@settings(max_examples=15, deadline=None, suppress_health_check=QUIET, database=None)
@given(number=st.integers(0, 1 << 32))
def test_passes_keep_the_bits_of_random_kernels(number: int) -> None:
    case = generate(Random(number))
    note(case.script())
    names = loaded(case.script())
    try:
        placed_agree(names["kernel"], case.grid, *names["arguments"]())
    except (Refused, Suspicion, TritonError):
        pass  # this one breaks a rule of the language, or needs the step machine
    finally:
        names["__forget__"]()

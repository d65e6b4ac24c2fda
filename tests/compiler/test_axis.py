"""Axis analysis: how contiguous, aligned and equal the integers and pointers of a kernel are."""

import runpy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import blockstep
import blockstep.language as tl
from blockstep.compiler import passes
from blockstep.compiler.analysis import AxisFacts, Hint, analyse, order, vector_width
from blockstep.compiler.frontend import build
from blockstep.ir import Function, Operation, Value, parse, verify
from blockstep.language.function import register_launcher
from blockstep.runtime import redirect, session
from blockstep.runtime.launch import launch
from tests.agreement.agree import outcome
from tests.compiler.axis_random import Program
from tests.compiler.axis_truth import lies
from tests.compiler.axis_watch import watched
from tests.fuzz.campaign import REFUSED
from tests.fuzz.case import loaded
from tests.fuzz.generate import generate

EXAMPLES = Path(__file__).parents[2] / "examples"
ALIGNED, SIZE, TIMES_16 = Hint(16), Hint(1, nonnegative=True), Hint(16, nonnegative=True)
F32, F16 = tl.pointer_type(tl.float32), tl.pointer_type(tl.float16)


def ready(kernel: Any, types: dict[str, Any], **constants: Any) -> Function:
    function = build(kernel, types, constants)
    passes.run(function)
    return function


def accesses(function: Function, name: str = "load") -> list[tuple[Value, Value | None]]:
    """Pointer and mask of every access of that name."""
    return [(o.operands[0], _mask(o)) for o in function.walk() if o.name == name]


def _mask(operation: Operation) -> Value | None:
    return next((v for v in operation.operands if v.type.scalar.is_int1()), None)


def facts_of(text: str, **hints: Hint) -> AxisFacts:
    """Of the value that a function in text form gives to its last operation."""
    function = parse(text)
    verify(function)
    return analyse(function, hints)[function.body.operations[-2].results[0]]


@blockstep.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)


def add_width(pointer: Any, n: Hint, block: int = 1024, x: Hint = ALIGNED) -> int:
    function = ready(add_kernel, {"x": pointer, "out": pointer, "n": tl.int32}, BLOCK=block)
    facts = analyse(function, {"x": x, "out": ALIGNED, "n": n})
    ((at, mask),) = accesses(function)
    return vector_width(at, mask, pointer.element_ty.itemsize, facts, 0)


@pytest.mark.parametrize("pointer, width", [(F32, 4), (F16, 8), (tl.pointer_type(tl.int8), 16)])
def test_a_vector_add_whose_length_is_a_multiple_of_16_takes_16_bytes(
    pointer: Any, width: int
) -> None:
    assert add_width(pointer, Hint(16)) == width


def test_a_tail_mask_of_any_length_splits_every_vector() -> None:
    assert add_width(F32, Hint(1)) == 1


def test_a_tail_mask_of_even_length_leaves_pairs() -> None:
    assert add_width(F32, Hint(2)) == 2


def test_a_pointer_of_unknown_alignment_is_read_by_elements() -> None:
    assert add_width(F32, Hint(16), x=Hint(1)) == 1
    assert add_width(F32, Hint(16), x=Hint(8)) == 2


def test_a_block_shorter_than_a_vector_bounds_it() -> None:
    assert add_width(F32, Hint(16), block=2) == 2


@blockstep.jit
def tile_kernel(a, b, M, N, sam, sbn, WRAPS: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, 64)
    first = pid // (4 * columns) * 4
    height = min(tl.cdiv(M, 32) - first, 4)
    inside = pid % (4 * columns)
    pm, pn = first + inside % height, inside // height
    rm, rn = pm * 32 + tl.arange(0, 32), pn * 64 + tl.arange(0, 64)
    if WRAPS:
        rm, rn = rm % M, rn % N
    rk = tl.arange(0, 16)
    tl.store(b + rk[:, None] * sbn + rn[None, :], tl.load(b + rk[:, None] * sbn + rn[None, :]))
    tl.store(a + rm[:, None] * sam + rk[None, :], tl.load(a + rm[:, None] * sam + rk[None, :]))


def tile_widths(hints: dict[str, Hint], wraps: bool, trust: bool = False) -> dict[str, Any]:
    kinds = {"a": F16, "b": F16, "M": tl.int32, "N": tl.int32, "sam": tl.int32, "sbn": tl.int32}
    function = ready(tile_kernel, kinds, WRAPS=wraps)
    facts = analyse(function, {"a": ALIGNED, "b": ALIGNED, **hints}, trust)
    (b, _), (a, _) = accesses(function)
    return {k: vector_width(p, None, 2, facts, 1) for k, p in (("a", a), ("b", b))} | {
        "order": order(facts[a])
    }


def test_rows_of_a_matrix_are_read_along_the_contiguous_axis() -> None:
    found = tile_widths({"sam": Hint(16), "sbn": Hint(16)}, wraps=False)
    assert found == {"a": 8, "b": 8, "order": (1, 0)}


def test_rows_that_are_no_multiple_of_16_bytes_apart_are_read_in_smaller_pieces() -> None:
    assert tile_widths({"sam": Hint(4), "sbn": Hint(1)}, wraps=False) == {
        "a": 4, "b": 1, "order": (1, 0),
    }  # fmt: skip


def test_row_numbers_modulo_the_height_leave_the_other_axis_alone() -> None:
    strides = {"sam": Hint(16), "sbn": Hint(16)}
    assert tile_widths({**strides, "M": SIZE, "N": SIZE}, wraps=True)["a"] == 8


def test_columns_modulo_a_multiple_of_16_stay_runs_only_if_they_are_not_below_zero() -> None:
    hints = {"sam": Hint(16), "sbn": Hint(16), "M": TIMES_16, "N": TIMES_16}
    assert tile_widths(hints, wraps=True)["b"] == 1  # the height of a group may be below zero
    assert tile_widths(hints, wraps=True, trust=True)["b"] == 8


@blockstep.jit
def assuming(x, n, m):
    start = n // m
    tl.assume(start >= 0)
    at = x + (start * 16 + tl.arange(0, 16)) % m
    tl.store(at, tl.load(at))


def test_an_assumed_sign_keeps_runs_in_a_remainder() -> None:
    function = ready(assuming, {"x": F32, "n": tl.int32, "m": tl.int32})
    facts = analyse(function, {"x": ALIGNED, "m": Hint(16)})
    ((at, _),) = accesses(function)
    assert vector_width(at, None, 4, facts, 0) == 4


@blockstep.jit
def walking(x, out, n, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n, BLOCK):
        total += tl.load(at, mask=i + tl.arange(0, BLOCK) < n)
        at += BLOCK
    tl.store(out + tl.arange(0, BLOCK), total)


def test_a_pointer_that_a_loop_moves_by_blocks_stays_aligned() -> None:
    function = ready(walking, {"x": F32, "out": F32, "n": tl.int32}, BLOCK=64)
    facts = analyse(function, {"x": ALIGNED, "out": ALIGNED, "n": Hint(16)})
    ((at, mask),) = accesses(function)
    assert vector_width(at, mask, 4, facts, 0) == 4
    assert facts[mask].constancy == (16,)  # type: ignore[index]


@blockstep.jit
def drifting(x, n):
    at = x + tl.arange(0, 16)
    for i in range(n):
        tl.store(at, 0.0)
        at += i


def test_a_pointer_that_a_loop_moves_by_anything_is_still_contiguous() -> None:
    function = ready(drifting, {"x": F32, "n": tl.int32})
    facts = analyse(function, {"x": ALIGNED})
    ((at, _),) = accesses(function, "store")
    assert (facts[at].contiguity, facts[at].divisibility) == ((16,), (4,))


@blockstep.jit
def halving(p, n):
    x = tl.full((), 1 << 20, tl.int32)
    while n > 0:
        x = x // 2
        n -= 1
    tl.store(p, x)


def test_what_a_loop_halves_is_in_the_end_a_multiple_of_nothing() -> None:
    function = ready(halving, {"p": tl.pointer_type(tl.int32), "n": tl.int32})
    facts = analyse(function, {})
    (store,) = [o for o in function.walk() if o.name == "store"]
    assert facts[store.operands[1]].divisibility == (1,)


def test_a_negative_dividend_ends_the_runs_of_a_quotient() -> None:
    text = """func @f(%n.0: int32) -> () const {{}} {{
      %r = arange {{start=0, end=16}} : int32[16]
      %s = splat %n.0 {{shape=(16,)}} : int32[16]
      %x = add %s, %r : int32[16]
      %c = constant {{type=!int32[16], value=8}} : int32[16]
      %q = {} %x, %c : {}[16]
      return
    }}"""
    known, negative = Hint(16, nonnegative=True), Hint(16)
    assert facts_of(text.format("idiv", "int32"), n=known).constancy == (8,)
    assert facts_of(text.format("idiv", "int32"), n=negative).constancy == (1,)
    assert facts_of(text.format("irem", "int32"), n=known).contiguity == (8,)
    assert facts_of(text.format("irem", "int32"), n=negative).contiguity == (1,)
    assert facts_of(text.format("lt", "int1"), n=negative).constancy == (8,)
    assert facts_of(text.format("le", "int1"), n=negative).constancy == (1,)


@blockstep.jit
def promised(x, at):
    offs = tl.load(at + tl.arange(0, 32))
    offs = tl.max_contiguous(tl.multiple_of(offs, 32), 32)
    tl.store(x + offs, tl.load(x + offs))


def test_promises_make_loaded_offsets_a_run() -> None:
    function = ready(promised, {"x": F16, "at": tl.pointer_type(tl.int32)})
    facts = analyse(function, {"x": ALIGNED, "at": ALIGNED})
    ((at, _),) = accesses(function, "store")
    assert vector_width(at, None, 2, facts, 0) == 8


@blockstep.jit
def boxed(x, m, n, stride):
    block = tl.make_block_ptr(x, (m, n), (stride, 1), (tl.program_id(0) * 8, 0), (8, 32), (1, 0))
    tl.store(block, tl.load(block, boundary_check=(0, 1)), boundary_check=(0, 1))


def test_a_block_pointer_is_as_wide_as_its_strides_allow() -> None:
    kinds = {"x": F16, "m": tl.int32, "n": tl.int32, "stride": tl.int32}
    function = ready(boxed, kinds)
    facts = analyse(function, {"x": ALIGNED, "n": Hint(16), "stride": Hint(16)})
    ((at, mask),) = accesses(function)
    assert vector_width(at, mask, 2, facts, 1) == 8
    assert order(facts[at]) == (1, 0)


# Facts against the values themselves.


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_facts_of_random_integer_programs_are_true(first: int) -> None:
    for seed in range(first, first + 100):
        program = Program(Random(seed))
        program.grow(40)
        facts = analyse(program.function, program.hints)
        for value in set(program.data) - program.undefined:
            said = lies(facts[value], program.data[value], value in program.wrapped)
            assert not said, f"seed {seed}: {value!r} of {value.owner!r}: {said}"


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_facts_of_fuzzed_kernels_are_true(first: int) -> None:
    checked = 0
    for seed in range(first, first + 20):
        case = generate(Random(seed))
        names = loaded(case.script())
        with watched() as watch, np.errstate(all="ignore"):
            found = outcome("grid", names["kernel"], case.grid, names["arguments"](), 0, {})
        names["__forget__"]()
        assert found.error.partition(":")[0] in {"", *REFUSED}, found.error
        assert not watch.false, f"seed {seed}: {watch.false[0]}"
        checked += watch.checked
    assert checked > 500


@pytest.fixture
def triton_redirected():
    redirect.install()
    yield
    register_launcher(launch)
    redirect.uninstall()
    session.set_process(None)


@pytest.mark.parametrize("name", [
    "vector_add", "matmul", "flash_attention", "softmax", "layer_norm", "persistent_matmul",
    "grouped_gemm", "rotary",
])  # fmt: skip
def test_facts_of_the_examples_are_true(name: str, triton_redirected: None) -> None:
    with watched() as watch, blockstep.machine("grid"), blockstep.check():
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert watch.checked > 15
    assert not watch.false, watch.false[0]


def test_a_false_claim_would_be_seen() -> None:
    claimed = AxisFacts((4,), (4,), (1,))
    assert lies(claimed, np.arange(4, 12)) == ""
    assert lies(claimed, np.arange(2, 10)).startswith("divisibility")
    assert lies(claimed, np.arange(0, 16, 2)).startswith("contiguity")
    assert lies(AxisFacts((1,), (1,), (2,)), np.arange(8)).startswith("constancy")

"""Assertions, prints, barriers and hints: what they say, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.ops.kernels import clean, same

# device_print


@triton.jit
def print_value(x_ptr, N: tl.constexpr, PREFIX: tl.constexpr, HEX: tl.constexpr):
    tl.device_print(PREFIX, tl.load(x_ptr + tl.arange(0, N)), hex=HEX)


def printed(
    capsys: pytest.CaptureFixture[str], x: Any, prefix: str = "x", hex: bool = False
) -> Any:
    """The lines that the kernel prints of `x`."""
    with triton.check() as report:
        print_value[(1,)](x, N=x.size, PREFIX=prefix, HEX=hex)
    clean(report)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("x", "hex", "values"),
    [
        (np.array([-5, 7], np.int32), False, ["-5", "7"]),
        (np.array([250, 7], np.uint8), False, ["250", "7"]),
        (np.array([-1, 7], np.int32), True, ["0xffffffff", "0x00000007"]),
        (np.array([-1, 7], np.int64), True, ["0xffffffffffffffff", "0x0000000000000007"]),
        (np.array([-1, 7], np.int8), True, ["0xff", "0x07"]),
        (np.array([0.5, -2], np.float32), False, ["0.500000", "-2.000000"]),
        (np.array([0.5, np.nan], np.float16), False, ["0.500000", "nan"]),
        (np.array([True, False]), False, ["1", "0"]),
    ],
)
def test_a_line_for_each_element(capsys: Any, x: Any, hex: bool, values: list[str]) -> None:
    lines = [f"pid (0, 0, 0) idx ({i}) x: {value}" for i, value in enumerate(values)]
    assert printed(capsys, x, hex=hex) == lines


@pytest.mark.parametrize("prefix", ["x", " x", "x ", "x:", " x: "])
def test_the_prefix_ends_with_a_colon_and_a_space(capsys: Any, prefix: str) -> None:
    assert printed(capsys, np.array([3], np.int32), prefix) == ["pid (0, 0, 0) idx (0) x: 3"]


def test_an_empty_prefix_and_wide_indices(capsys: Any) -> None:
    lines = printed(capsys, np.arange(16, dtype=np.int32), "")
    assert lines[0] == "pid (0, 0, 0) idx ( 0): 0"
    assert lines[15] == "pid (0, 0, 0) idx (15): 15"


@triton.jit
def print_several(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4)).reshape(2, 2)
    tl.device_print("both", x, tl.program_id(0))
    tl.device_print("nothing else")


def test_several_operands_are_numbered_and_program_instances_named(capsys: Any) -> None:
    print_several[(2,)](np.arange(4, dtype=np.int32))
    lines = capsys.readouterr().out.splitlines()
    for p in range(2):
        mine = [line for line in lines if line.startswith(f"pid ({p}, 0, 0)")]
        where = ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
        both = [f"pid ({p}, 0, 0) idx {w} both: (operand 0) {i}" for i, w in enumerate(where)]
        assert mine[:4] == both
        assert mine[4] == f"pid ({p}, 0, 0) idx () both: (operand 1) {p}"
        assert mine[5] == f"pid ({p}, 0, 0) nothing else"


@pytest.mark.parametrize("prefix", ["ä", 3])
def test_a_prefix_is_ascii_text(prefix: Any) -> None:
    with pytest.raises(triton.CompilationError, match="ASCII"):
        print_value[(1,)](np.zeros(1, np.int32), N=1, PREFIX=prefix, HEX=False)


# static_print, static_assert


@triton.jit
def says(N: tl.constexpr):
    tl.static_print("N is", N, "and half is", N // 2, sep=" ", end="!\n")
    tl.static_print(f"{N=}", tl.float32)


@triton.jit
def asserts(N: tl.constexpr):
    tl.static_assert(N % 2 == 0, f"{N} is odd")


@triton.jit
def asserts_a_value(N: tl.constexpr):
    tl.static_assert(tl.program_id(0) == 0)


def test_static_print(capsys: Any) -> None:
    says[(1,)](N=8)
    assert capsys.readouterr().out == "N is 8 and half is 4!\nN=8 fp32\n"


def test_static_assert() -> None:
    from blockstep.errors import CompileTimeAssertionFailure

    asserts[(1,)](N=4)
    with pytest.raises(CompileTimeAssertionFailure, match="3 is odd"):
        asserts[(1,)](N=3)
    with pytest.raises(triton.CompilationError, match="device_assert"):
        asserts_a_value[(1,)](N=3)


# device_assert


@triton.jit
def all_positive(x_ptr, MASKED: tl.constexpr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    if MASKED:
        tl.device_assert(x > 0, "x must be positive", mask=i < 4)
    else:
        tl.device_assert(x > 0, "x must be positive")


@triton.jit
def plain_assert(x_ptr):
    assert tl.load(x_ptr) > 0, "not positive"


def test_an_assertion_is_reported_with_its_elements() -> None:
    x = np.array([1, 1, 1, 1, 0, 1, -1, 1], np.int32)
    with triton.check() as report:
        all_positive[(1,)](x, MASKED=False)
    (finding,) = report.findings
    assert finding.kind == "assert"
    assert finding.message == "device_assert failed: x must be positive"
    assert finding.label == "`x > 0` is false for 2 of 8 elements (4, 6)"


def test_an_assertion_sees_only_what_its_mask_keeps() -> None:
    x = np.array([1, 1, 1, 1, 0, 1, -1, 1], np.int32)
    with triton.check() as report:
        all_positive[(1,)](x, MASKED=True)
    clean(report)


def test_an_assertion_stops_an_unjudged_run() -> None:
    with pytest.raises(AssertionError, match="x must be positive"):
        all_positive[(1,)](np.zeros(8, np.int32), MASKED=False)
    with pytest.raises(AssertionError, match="not positive"):
        plain_assert[(1,)](np.zeros(1, np.int32))
    plain_assert[(1,)](np.ones(1, np.int32))


# Hints


@triton.jit
def hints(x_ptr, out_ptr, stride):
    tl.assume(stride > 0)
    stride = tl.multiple_of(stride, 4)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, 8), 8), 8)
    rows = tl.max_constancy(tl.arange(0, 8) // 4, 4)
    pointers = tl.multiple_of(x_ptr + i[None, :] + rows[:, None] * stride, (1, 4))
    tl.store(out_ptr + rows[:, None] * 8 + i[None, :], tl.load(pointers))


def test_true_hints_change_nothing() -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    with triton.check(skip=["overlap"]) as report:
        hints[(1,)](x, out, 8)
    clean(report)
    same(out, x)


@triton.jit
def hint_of_wrong_rank(x_ptr):
    tl.store(x_ptr + tl.multiple_of(tl.arange(0, 8), (8, 8)), 0)


@triton.jit
def hint_of_a_value(x_ptr):
    tl.store(x_ptr + tl.multiple_of(tl.arange(0, 8), tl.program_id(0)), 0)


@pytest.mark.parametrize(
    ("kernel", "text"), [(hint_of_wrong_rank, "length"), (hint_of_a_value, "constexpr")]
)
def test_hints_are_constants_one_for_each_axis(kernel: Any, text: str) -> None:
    with pytest.raises((triton.CompilationError, TypeError), match=text):
        kernel[(1,)](np.zeros(8, np.int32))


# Where a program instance is


@triton.jit
def places(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + at, z * 100 + y * 10 + x)


@triton.jit
def fourth_axis(out_ptr):
    tl.store(out_ptr, tl.program_id(3))


def test_program_ids() -> None:
    out = np.zeros((2, 3, 4), np.int32)
    with triton.check() as report:
        places[(4, 3, 2)](out)
    clean(report)
    z, y, x = np.indices(out.shape)
    same(out, (z * 100 + y * 10 + x).astype(np.int32))


def test_a_grid_has_three_axes() -> None:
    with pytest.raises(triton.CompilationError, match="3"):
        fourth_axis[(1,)](np.zeros(1, np.int32))

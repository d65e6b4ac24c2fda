"""Inline PTX: the one-liners that published kernels use, packing, and what is not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.errors import UnsupportedError
from blockstep.language import types as ty
from blockstep.language.asm import inline_asm_elementwise
from blockstep.language.assembly import parse
from blockstep.language.value import tensor

Block = Callable[..., tensor]
X = np.linspace(0.5, 4, 8).astype(np.float32)
Y = np.linspace(-1, 2, 8).astype(np.float32)

LINES: list[tuple[str, str, int, Callable[..., Any]]] = [
    ("tanh.approx.f32 $0, $1;", "=f,f", 1, np.tanh),
    ("ex2.approx.ftz.f32 $0, $1;", "=f,f", 1, np.exp2),
    ("rsqrt.approx.ftz.f32 $0, $1;", "=r,r", 1, lambda x: 1 / np.sqrt(x)),
    ("rcp.approx.ftz.f32 $0, $1;", "=f, f", 1, lambda x: 1 / x),
    ("lg2.approx.f32 $0, $1;", "=f,f", 1, np.log2),
    ("mov.b32 $0, $1;", "=r,r", 1, lambda x: x),
    ("mul.rn.f32 $0, $1, $2;", "=f,f,f", 2, np.multiply),
    ("div.full.f32 $0, $1, $2;", "=f,f,f", 2, np.divide),
    ("add.f32 $0, $1, 0f3F800000;", "=f,f", 1, lambda x: x + 1),
    ("fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", 2, lambda x, y: x * y + x),
    ("max.f32 $0, $1, $2;", "=f,f,f", 2, np.maximum),
    ("{ .reg .pred p; setp.gt.f32 p, $2, 0.0; selp.f32 $0, $1, $2, p; }", "=f,f,f", 2,
     lambda x, y: np.where(y > 0, x, y)),
    ("{ .reg .pred p; mov.f32 $0, $1; setp.lt.f32 p, $2, 0.0; @p neg.f32 $0, $1; }", "=&f,f,f", 2,
     lambda x, y: np.where(y < 0, -x, x)),
]  # fmt: skip


@pytest.mark.parametrize("text, constraints, arity, expected", LINES)
def test_one_line_computes(
    block: Block, text: str, constraints: str, arity: int, expected: Callable[..., Any]
) -> None:
    arrays = [X, Y][:arity]
    found = inline_asm_elementwise(
        text, constraints, [block(a) for a in arrays], ty.float32, is_pure=True, pack=1
    )
    assert found.type is ty.block_type(ty.float32, [8])
    np.testing.assert_allclose(found.handle, expected(*arrays), rtol=1e-6)


def test_ftz_takes_and_gives_subnormal_numbers_as_zeros(block: Block) -> None:
    x = np.array([1e-45, -1e-45, 2.0**-126, 1], np.float32)
    y = np.array([1, 1, 0.5, 1], np.float32)
    for text, expected in (
        ("mul.ftz.f32 $0, $1, $2;", [0.0, -0.0, 0.0, 1.0]),
        ("add.ftz.f32 $0, $1, $1;", [0.0, -0.0, 2.0**-125, 2.0]),
        ("mul.f32 $0, $1, $2;", (x * y).tolist()),
    ):
        found = inline_asm_elementwise(text, "=f,f,f", [block(x), block(y)], ty.float32, True, 1)
        np.testing.assert_array_equal(
            found.handle.view(np.uint32), np.array(expected, np.float32).view(np.uint32)
        )


@pytest.mark.parametrize("text", ["add.rz.f32 $0, $1, $1;", "mul.sat.f32 $0, $1, $1;"])
def test_arithmetic_that_rounds_otherwise_is_not_rounded_to_nearest(
    block: Block, text: str
) -> None:
    with pytest.raises(UnsupportedError):
        inline_asm_elementwise(text, "=f,f", [block(X)], ty.float32, True, 1)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_integers_divide_exactly_at_the_ends_of_their_type(block: Block, kind: Any) -> None:
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    x, y = np.array([least, most, most, 7], kind), np.array([-1, 3, -2, 0], kind)
    bits, letter = 8 * x.itemsize, "r" if kind is np.int32 else "l"
    for name, expected in (("div", [least, most // 3, -(most // 2), -1]), ("rem", [0, 1, 1, -1])):
        text = f"{name}.s{bits} $0, $1, $2;"
        found = inline_asm_elementwise(
            text, f"={letter},{letter},{letter}", [block(x), block(y)],
            ty.int32 if kind is np.int32 else ty.int64, True, 1,
        )  # fmt: skip
        np.testing.assert_array_equal(found.handle, np.array(expected, kind))


def test_funnel_shift(block: Block) -> None:
    x, y = np.random.default_rng(0).integers(0, 2**32, (2, 16)).astype(np.uint32)
    found = inline_asm_elementwise(
        "shf.l.wrap.b32 $0, $1, $2, $3;", "=r,r, r, r", [block(x), block(y), 17], ty.int32, True, 1
    )
    np.testing.assert_array_equal(found.handle.view(np.uint32), y << 17 | x >> 15)


def test_bits_are_extracted(block: Block) -> None:
    x = np.array([0x12345678, -0x12345678, -1, 0x7FF], np.int32)
    for text, kind in (("bfe.u32 $0, $1, 5, 7;", False), ("bfe.s32 $0, $1, 5, 7;", True)):
        found = inline_asm_elementwise(text, "=r,r", [block(x)], ty.int32, True, 1)
        fields = [(int(v) >> 5) & 127 for v in x]
        wanted = [f - 128 if kind and f >= 64 else f for f in fields]
        assert found.handle.tolist() == wanted


def test_four_bytes_share_a_register(block: Block) -> None:
    x = np.random.default_rng(0).integers(0, 256, (4, 8)).astype(np.uint8)
    found = inline_asm_elementwise(
        "and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", "=r,r", [block(x)], ty.int8, True, 4
    )
    np.testing.assert_array_equal(found.handle.view(np.uint8), x << 3)


def test_several_outputs_and_unpacked_bytes(block: Block) -> None:
    a = np.random.default_rng(0).integers(0, 256, 16).astype(np.uint8)
    b = np.random.default_rng(1).uniform(0, 256, 16).astype(np.float32)
    whole, greater = inline_asm_elementwise(
        """
        {
            // one byte for each lane
            .reg .b8 tmp<4>;
            mov.b32 {tmp0, tmp1, tmp2, tmp3}, $8;
            cvt.u32.u8 $0, tmp0;
            cvt.u32.u8 $1, tmp1;
            cvt.u32.u8 $2, tmp2;
            cvt.u32.u8 $3, tmp3;
        }
        cvt.rn.f32.s32 $4, $0;
        cvt.rn.f32.s32 $5, $1;
        cvt.rn.f32.s32 $6, $2;
        cvt.rn.f32.s32 $7, $3;
        max.f32 $4, $4, $9;
        max.f32 $5, $5, $10;
        max.f32 $6, $6, $11;
        max.f32 $7, $7, $12;
        """,
        "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r",
        [block(a), block(b)],
        (ty.int32, ty.float32),
        is_pure=True,
        pack=4,
    )
    np.testing.assert_array_equal(whole.handle, a)
    np.testing.assert_array_equal(greater.handle, np.maximum(a, b))


def test_pairs_are_converted_high_half_first(block: Block) -> None:
    x = np.array([1.0, -2.0, 1000.0, 0.5], np.float32)
    codes = inline_asm_elementwise(
        "cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;", "=h,r,r", [block(x)], ty.float8e4nv, True, 2
    )
    assert codes.handle.astype(np.float32).tolist() == [1.0, -2.0, 448.0, 0.5]
    halves = inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,r,r", [block(x)], ty.bfloat16, True, 2
    )
    assert halves.handle.astype(np.float32).tolist() == [1.0, -2.0, 1000.0, 0.5]


def test_a_block_of_odd_groups_is_padded(block: Block) -> None:
    x = np.array([3, 5], np.uint8)
    found = inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [block(x)], ty.uint8, True, 4)
    assert found.handle.tolist() == [3, 5]


def test_bits_through_lop3_and_prmt(block: Block) -> None:
    x = np.array([0x12345678, -1], np.int32)
    either = inline_asm_elementwise(
        "lop3.b32 $0, $1, 0xFF, 0, 0xC0;", "=r,r", [block(x)], ty.int32, True, 1
    )
    np.testing.assert_array_equal(either.handle, x & 0xFF)
    swapped = inline_asm_elementwise(
        "prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [block(x)], ty.int32, True, 1
    )
    np.testing.assert_array_equal(swapped.handle, x.byteswap())


@pytest.mark.parametrize(
    "text",
    [
        "ld.global.b32 $0, [$1];",
        "bra L;",
        "mma.sync $0, $1;",
        "mov.u32 $0, %laneid;",
        "cvt $0, $1;",
    ],
)
def test_what_is_not_run_is_said(block: Block, text: str) -> None:
    with pytest.raises(UnsupportedError, match="inline PTX `"):
        inline_asm_elementwise(text, "=r,r", [block([1, 2])], ty.int32, False, 1)


def test_registers_and_constraints_must_fit(block: Block) -> None:
    with pytest.raises(ValueError, match="2 input constraints for 1 registers"):
        inline_asm_elementwise("mov.b32 $0, $1;", "=r,r,r", [block([1, 2])], ty.int32, True, 1)


def test_scopes_and_vectors_are_told_apart() -> None:
    first, second = parse("{ .reg .b16 a, b; mov.b32 {a, b}, $1; @!p add.u32 $0, a, -1; }")
    assert (first.name, first.operands) == ("mov", (("a", "b"), "$1"))
    assert (second.guard, second.negated, second.operands) == ("p", True, ("$0", "a", "-1"))


def test_a_kernel_without_inputs_reads_the_clock() -> None:
    @triton.jit
    def kernel(X):
        tl.inline_asm_elementwise("membar.gl; // dummy $0", "=r", [], tl.int32, False, 1)
        now = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, False, 1)
        tl.store(X, now)

    x = np.zeros(1, np.int64)
    kernel[(1,)](x)
    assert x[0] > 0


def test_halves_make_a_word(block: Block) -> None:
    x = np.array([0x12345678, -1, 1 << 16, 7], np.int32)
    found = inline_asm_elementwise(
        "{ .reg .b16 low, high; mov.b32 {low, high}, $1; mov.b32 $0, {high, low}; }",
        "=r,r", [block(x)], ty.int32, True, 1,
    )  # fmt: skip
    bits = x.view(np.uint32)
    np.testing.assert_array_equal(found.handle.view(np.uint32), bits << 16 | bits >> 16)

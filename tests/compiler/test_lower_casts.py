"""Casts as they are lowered: 8-bit floats bit by bit against their meaning, rounding in one step."""

from __future__ import annotations

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.lower.cast import convert
from blockstep.compiler.lower.cast_fp8 import narrow_result
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.numerics.formats import format_of
from tests.compiler import on_host
from tests.compiler.lowered import TARGETS, compiled

EIGHT = (ty.float8e4nv, ty.float8e5, ty.float8e4b8, ty.float8e5b16)


def singles() -> np.ndarray:
    """All top halves of a float32, with low halves that are 0, 1 and the greatest."""
    top = np.arange(1 << 16, dtype=np.uint32) << 16
    return np.concatenate([top, top | 1, top | 0xFFFF, top | 0x8000])


@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
@pytest.mark.parametrize("target", EIGHT, ids=str)
def test_narrowing_by_arithmetic(target: ty.dtype, rounding: str) -> None:
    bits = singles()
    found = on_host.run(lambda lw, x: convert(lw, x, target, rounding), ty.float32, target, bits)
    values = bits.view(np.float32)
    wanted = numerics.convert(values, "float32", target.codegen_name(), rounding)
    np.testing.assert_array_equal(found, wanted.view(np.uint8))


@pytest.mark.parametrize("target", EIGHT, ids=str)
def test_arithmetic_does_not_saturate(target: ty.dtype) -> None:
    bits = singles()
    found = on_host.run(lambda lw, x: narrow_result(lw, x, target), ty.float32, target, bits)
    storage = format_of(target.codegen_name()).storage
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = bits.view(np.float32).astype(storage).astype(np.float32)
    np.testing.assert_array_equal(found.view(storage).astype(np.float32), wanted)


def test_every_half_as_e4b15() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    found = on_host.run(
        lambda lw, x: convert(lw, x, ty.float8e4b15), ty.float16, ty.float8e4b15, bits
    )
    wanted = numerics.convert(bits.view(np.float16), "float16", "float8e4b15")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (ty.float8e4nv, ty.float32), (ty.float8e4b8, ty.float32), (ty.float8e5b16, ty.float32),
        (ty.float8e5, ty.float16), (ty.float8e4b15, ty.float16),
    ],
    ids=str,
)  # fmt: skip
def test_every_code_widened(source: ty.dtype, target: ty.dtype) -> None:
    codes = np.arange(256, dtype=np.uint8)
    found = on_host.run(lambda lw, x: convert(lw, x, target), source, target, codes)
    stored = codes.view(format_of(source.codegen_name()).storage)
    wanted = numerics.convert(stored, source.codegen_name(), target.codegen_name())
    held = found.view(wanted.dtype)
    assert np.array_equal(np.isnan(held), np.isnan(wanted))
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(held[~nan].view(found.dtype), wanted[~nan].view(found.dtype))


@triton.jit
def cast(x_ptr, out_ptr, TO: tl.constexpr, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(TO, fp_downcast_rounding=HOW))


def ptx(source: ty.dtype, target: ty.dtype, how: str | None, capability: str, n: int = 256) -> str:
    x = np.zeros(n, format_of(source.codegen_name()).storage)
    out = np.zeros(n, format_of(target.codegen_name()).storage)
    return compiled(cast, (x, out, target, how, n), target=capability).ptx


@pytest.mark.parametrize("capability", TARGETS)
@pytest.mark.parametrize("how", [None, "rtz"])
@pytest.mark.parametrize("source", [ty.float64, ty.float32, ty.float16, ty.bfloat16], ids=str)
def test_every_narrowing_assembles(source: ty.dtype, how: str | None, capability: str) -> None:
    narrower = [
        t for t in (ty.float32, ty.float16, ty.bfloat16, ty.float8e4nv, ty.float8e5)
        if t.primitive_bitwidth < source.primitive_bitwidth
    ]  # fmt: skip
    for target in narrower:
        assert "cvt" in ptx(source, target, how, capability) or source is ty.bfloat16


@pytest.mark.parametrize("capability", TARGETS)
def test_float64_rounds_once(capability: str) -> None:
    assert "cvt.rn.f16.f64" in ptx(ty.float64, ty.float16, None, capability)
    for target in (ty.bfloat16, ty.float8e5):
        text = ptx(ty.float64, target, None, capability)
        assert "cvt.rz.f32.f64" in text  # cut off, and the last bit set where something was lost
        assert "or.b32" in text


@pytest.mark.parametrize("source", [ty.int32, ty.uint32, ty.int64, ty.uint64], ids=str)
def test_wide_integers_round_once(source: ty.dtype) -> None:
    text = ptx(source, ty.bfloat16, None, "sm_90a")
    letter = "s" if source.is_int_signed() else "u"
    assert f"cvt.rz.f32.{letter}{source.primitive_bitwidth}" in text


def test_eight_bits_of_a_float_are_those_of_sixteen() -> None:
    text = ptx(ty.float32, ty.int8, None, "sm_90a")
    assert "cvt.rzi.s16.f32" in text
    assert "cvt.rzi.s8" not in text


def test_the_hardware_narrows_where_it_can() -> None:
    assert "cvt.rn.satfinite.e4m3x2.f32" in ptx(ty.float32, ty.float8e4nv, None, "sm_90a")
    assert "e4m3x2" not in ptx(ty.float32, ty.float8e4nv, None, "sm_80")
    assert "e5m2x2" not in ptx(ty.float8e5, ty.bfloat16, None, "sm_90a")  # its infinity is 65536

"""Elementwise mathematics, the device library, and device registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep import target
from blockstep.language import libdevice, target_info
from blockstep.language import math as functions
from blockstep.language import standard as std
from blockstep.language import types as ty
from blockstep.language.extra import cuda
from blockstep.language.ops.libdevice import LIBDEVICE
from blockstep.language.value import tensor

Block = Callable[..., tensor]
WIDE_ONLY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor,
    "ceil": np.ceil,
}


@pytest.mark.parametrize("name", WIDE_ONLY)
@pytest.mark.parametrize("kind", [ty.float32, ty.float64])
def test_values_are_the_true_ones(block: Block, name: str, kind: ty.dtype) -> None:
    x = np.linspace(0.25, 8, 64).astype(kind.numpy)
    found = getattr(functions, name)(block(x))
    assert found.type is ty.block_type(kind, [64])
    expected = WIDE_ONLY[name](x.astype(np.float64))
    np.testing.assert_allclose(found.handle, expected, rtol=4 * np.finfo(kind.numpy).eps, atol=1e-6)


@pytest.mark.parametrize("name", [*WIDE_ONLY, "erf"])
@pytest.mark.parametrize("kind", [ty.float16, ty.bfloat16, ty.int32])
def test_narrow_floats_are_rejected(block: Block, name: str, kind: ty.dtype) -> None:
    words = rf"Expected dtype \['fp32', 'fp64'\] but got {kind}"
    with pytest.raises(ValueError, match=words):
        getattr(functions, name)(block([1, 2], kind))


def test_sqrt_rn_is_for_float32_only(block: Block) -> None:
    assert functions.sqrt_rn(block(np.float32(2))).handle == np.sqrt(np.float32(2))
    with pytest.raises(ValueError, match=r"\['fp32'\] but got fp64"):
        functions.sqrt_rn(block(np.float64(2)))


@pytest.mark.parametrize("kind", [ty.int1, *ty.INTEGERS, *ty.FLOATS, ty.float8e5, ty.float8e4nv])
def test_abs_takes_every_type(block: Block, kind: ty.dtype) -> None:
    values = [0, 1, -1, -2] if not kind.is_int_unsigned() else [0, 1, 1, 0]
    found = functions.abs(block(values, kind))
    assert found.dtype is kind
    np.testing.assert_array_equal(found.handle.astype(np.float64), np.abs(values))


def test_abs_of_the_edges(block: Block) -> None:
    assert functions.abs(block(np.int8(-128))).handle == -128
    assert not np.signbit(functions.abs(block(np.float32(-0.0))).handle)
    codes = functions.abs(block([0x80, 0xF8], ty.float8e4b15))
    assert codes.handle.tolist() == [0, 0x78]


def test_fma_rounds_once(block: Block) -> None:
    x, y = np.float32(1 + 2**-12), np.float32(1 - 2**-12)
    assert functions.fma(block(x), block(y), block(np.float32(-1))).handle == -(2.0**-24)
    assert functions.fma(block([1.0, 2.0], ty.float16), 2, 1).dtype is ty.float16
    assert functions.fma(block([1.0, 2.0], ty.float16), 2.0, 1.0).dtype is ty.float32
    with pytest.raises(TypeError, match="fma takes floats"):
        functions.fma(block([1, 2]), 2, 1)


@pytest.mark.parametrize("kind", [ty.int32, ty.uint32, ty.int64, ty.uint64])
def test_umulhi_multiplies_the_bits_as_unsigned(block: Block, kind: ty.dtype) -> None:
    bits = kind.int_bitwidth
    x, y = (1 << bits) - 3, (1 << (bits - 1)) + 5
    words = np.array([x, y], np.uint64).astype(kind.numpy.str.replace("i", "u")).view(kind.numpy)
    found = functions.umulhi(block(words[:1], kind), block(words[1:], kind)).handle
    assert int(found[0]) % (1 << bits) == x * y >> bits


def test_cdiv_of_numbers_and_of_blocks(block: Block) -> None:
    assert std.cdiv(10, 4) == 3
    assert std.cdiv(tl.constexpr(8), tl.constexpr(4)) == 2
    np.testing.assert_array_equal(std.cdiv(block([0, 1, 4, 5]), 4).handle, [0, 1, 1, 2])
    assert std.cdiv(7, block(np.int32(2))).handle == 4


def test_sigmoid_and_softmax(block: Block) -> None:
    x = np.linspace(-4, 4, 32).astype(np.float32).reshape(4, 8)
    np.testing.assert_allclose(std.sigmoid(block(x)).handle, 1 / (1 + np.exp(-x)), rtol=1e-6)
    rows = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(std.softmax(block(x), 1, keep_dims=True).handle, rows, rtol=1e-5)
    columns = np.exp(x) / np.exp(x).sum(0)
    np.testing.assert_allclose(std.softmax(block(x)).handle, columns, rtol=1e-5)
    assert std.softmax(block(x, ty.float16)).dtype is ty.float32


def test_libdevice_chooses_by_type(block: Block) -> None:
    x = np.linspace(-2, 2, 16)
    for kind in (ty.float32, ty.float64):
        found = libdevice.tanh(block(x, kind))
        assert found.dtype is kind
        np.testing.assert_allclose(found.handle, np.tanh(x), rtol=1e-6)
    assert libdevice.isnan(block(x, ty.float32)).dtype is ty.int1
    assert libdevice.popc(block([1, 7, 255, 0])).handle.tolist() == [1, 3, 8, 0]


def test_libdevice_operands_are_broadcast(block: Block) -> None:
    x = np.array([[1.0], [2.0]], np.float32)
    found = libdevice.pow(block(x), block(np.array([1.0, 3.0], np.float32)))
    np.testing.assert_array_equal(found.handle, [[1, 1], [2, 8]])
    assert libdevice.pow(arg0=block(x), arg1=2.0).handle.tolist() == [[1], [4]]
    assert libdevice.pow(2.0, 3.0).shape == ()


def test_libdevice_has_no_promotion(block: Block) -> None:
    with pytest.raises(TypeError, match=r"exp takes \(float32\) or \(float64\), not \(fp16\)"):
        libdevice.exp(block([1.0, 2.0], ty.float16))
    with pytest.raises(TypeError, match="argument"):
        libdevice.atan2(block([1.0, 2.0]))
    with pytest.raises(AttributeError, match="no function 'tanhh'"):
        libdevice.tanhh  # noqa: B018


def test_every_library_function_is_public() -> None:
    assert all(callable(getattr(cuda.libdevice, name)) for name in LIBDEVICE)
    assert libdevice.exp.__doc__ == "E to the x. Takes (float32) or (float64)."


def test_the_target_answers_from_its_profile() -> None:
    with target.using("a100"):
        assert target_info.is_cuda()
        assert target_info.cuda_capability_geq(8)
        assert not target_info.cuda_capability_geq(9, 0)
    with target.using("mi300x"):
        assert target_info.is_hip_cdna3() and not target_info.is_cuda()


def test_device_registers_can_be_read_in_a_kernel() -> None:
    @triton.jit
    def kernel(X):
        tl.extra.cuda.gdc_wait()
        start = tl.extra.cuda.globaltimer()
        tl.store(X + 3 * tl.program_id(0), tl.extra.cuda.smid().to(tl.int64))
        tl.store(X + 3 * tl.program_id(0) + 1, tl.extra.cuda.num_threads())
        tl.store(X + 3 * tl.program_id(0) + 2, tl.extra.cuda.globaltimer() - start)
        tl.extra.cuda.gdc_launch_dependents()

    x = np.zeros((200, 3), np.int64)
    kernel[(200,)](x, num_warps=8)
    assert x[:, 0].tolist() == [i % target.current().multiprocessors for i in range(200)]
    assert set(x[:, 1]) == {256}
    assert np.all(x[:, 2] > 0)


def test_the_software_float_converts_through_its_own_functions(block: Block) -> None:
    codes = cuda.convert_custom_float8_sm80(block([1.0, -1.5], ty.float32), ty.float8e4b15)
    assert codes.dtype is ty.float8e4b15
    assert cuda.convert_custom_float8_sm80(codes, ty.float32).handle.tolist() == [1.0, -1.5]

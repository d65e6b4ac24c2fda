"""Tensor maps that a kernel makes: what comes of them on the ptx machine, and every step in making one is
needed there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.interp.ptx.faults import Trap
from blockstep.interp.ptx.machine import run_ptx
from blockstep.interp.ptx.tensor_map import BYTES, FIELDS, WRITTEN, Incomplete, made_of
from tests.agreement.loops_of_products import LAUNCHES
from tests.ptx.compiled import Compiled, compiled, outcomes
from tests.ptx.test_products import judged, mutants


def small(*shape: int) -> Any:
    """Small integers, the same ones each time."""
    return np.random.default_rng(len(shape)).integers(-4, 5, shape).astype(np.float16)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c.store([m, n], acc)


def made(M: int, N: int, K: int, target: str = "sm_90a", **named: Any) -> tuple[Compiled, Any, Any]:
    """The product for matrices of these sizes, its result, and what has to come out."""
    a, b, c = small(M, K), small(K, N), np.zeros((M, N), np.float32)
    sizes = {"BM": 64, "BN": 64, "BK": 32, **named}
    grid = triton.cdiv(M, 64), triton.cdiv(N, 64)
    found = compiled(product, (a, b, c, M, N, K), sizes, grid, target)
    return found, c, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("size", [(128, 128, 128), (112, 80, 144)], ids=["whole", "ragged"])
def test_descriptors_of_the_kernel_become_tensor_maps(size: Any, ctas: int) -> None:
    kernel, found, expected = made(*size, num_ctas=ctas)
    assert "tensormap.cp_fenceproxy" in kernel.text and "cp.async.bulk.tensor" in kernel.text
    assert kernel.run().faults == []
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_any_number_of_warps(warps: int) -> None:
    """One warp alone has no barriers of a CTA: what its lanes read before they met is over."""
    kernel, found, expected = made(64, 64, 96, num_warps=warps)
    assert kernel.run().faults == []
    np.testing.assert_array_equal(found, expected)


def test_rows_that_are_no_multiple_of_16_bytes_are_read_as_ever() -> None:
    kernel, found, expected = made(64, 64, 100)
    assert "cp.async.bulk.tensor.2d.shared::cluster" in kernel.text  # of b, whose rows are
    assert len(re.findall("global_address", kernel.text)) < 3
    assert kernel.run().faults == []
    np.testing.assert_array_equal(found, expected)


def test_no_map_is_made_before_sm_90() -> None:
    kernel, found, expected = made(64, 64, 64, "sm_80")
    assert "tensormap" not in kernel.text and kernel.binary.scratch == 0
    assert kernel.run().faults == []
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "name",
    [
        "descriptors of the kernel",
        "a descriptor in each turn",
        "a loop of stores",
        "a loop of two stores",
        "boxes of more axes",
    ],
)
def test_maps_of_arrays_that_only_the_kernel_knows(name: str) -> None:
    kernel, grid, arguments, named = LAUNCHES[name]()
    with outcomes() as found:
        kernel[grid](*arguments, **named)
    assert [(one.error, one.faults) for one in found] == [("", ())]
    assert "tensormap.cp_fenceproxy" in found[0].text


def missed(pattern: str) -> list[list[str]]:
    """What is found where one of the lines that match is missing, for each of them."""
    kernel, _, _ = made(64, 64, 64)
    assert judged(kernel) == []
    found = []
    for text in mutants(kernel.text, pattern):
        kernel.text = text
        found.append(judged(kernel))
    return found


def test_every_field_of_a_map_is_missed_but_those_that_are_zero() -> None:
    zero = r"(?!interleave|fill)"
    found = missed(rf"\s*tensormap\.replace\.tile\.{zero}(?!swizzle)")
    assert found and all("async" in kinds for kinds in found)


def test_a_map_that_no_fence_has_acquired_is_found() -> None:
    found = missed(r"\s*fence\.proxy\.tensormap")
    assert found and all(kinds == ["async"] for kinds in found)


def test_a_map_that_was_not_copied_is_found() -> None:
    found = missed(r"\s*tensormap\.cp_fenceproxy")
    assert found and all(kinds == ["async"] for kinds in found)


def bits(**fields: int | list[int]) -> bytes:
    """A map with these fields."""
    memory, written = bytearray(BYTES), 0
    for name, values in fields.items():
        start, size, _, bit = FIELDS[name]
        for index, value in enumerate(values if isinstance(values, list) else [values]):
            at = start + index * size
            memory[at : at + size] = value.to_bytes(size, "little")
            written |= 1 << (bit + index)
    memory[WRITTEN : WRITTEN + 4] = written.to_bytes(4, "little")
    return bytes(memory)


WHOLE: dict[str, Any] = {
    "global_address": 4096, "rank": 1, "elemtype": 6, "box_dim": [64, 8], "global_dim": [100, 0],
    "element_stride": [1, 1], "global_stride": [256], "swizzle_mode": 3, "fill_mode": 1,
}  # fmt: skip


def test_a_map_says_what_its_fields_say() -> None:
    found = made_of(bits(**WHOLE))
    assert (found.address, found.itemsize, found.swizzle) == (4096, 2, 128)
    assert (found.box, found.strides, found.fill) == ((64, 8), (256,), b"\x00\x7e")
    assert found.shape == (100, 1 << 32)  # a length is kept as one less


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"global_address": 4104}, "multiple of 16"),
        ({"global_stride": [264]}, "multiple of 16"),
        ({"box_dim": [128, 8]}, "rows of 256 bytes and a swizzle of 128"),
        ({"box_dim": [64, 512]}, "a box of"),
        ({"rank": 2}, "no box_dim of axis 2"),
        ({"rank": 5}, "6 axes"),
        ({"elemtype": 15}, "elements of the kind 15"),
        ({"element_stride": [1, 2]}, "steps over elements"),
    ],
)
def test_what_the_hardware_does_not_take_is_no_map(change: Any, words: str) -> None:
    with pytest.raises(Incomplete, match=words):
        made_of(bits(**{**WHOLE, **change}))


COPY = """
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 memory[];
.visible .entry copy(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %a<4>;
    .reg .pred %p<2>;
    ld.param.u64 %a1, [to];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, LANES;
    mov.u32 %r2, memory;
    cvt.u64.u32 %a2, %r2;
    shl.b32 %r3, %r1, 2;
    add.u32 %r3, %r3, %r2;
    @%p1 st.shared.b32 [%r3], %r1;
    bar.sync 0;
    @%p1 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%a1 + 0], [%a2 + 0], 0x80;
    ret;
}
"""


@pytest.mark.parametrize("lanes", [32, 16])
def test_a_map_is_copied_by_whole_warps(lanes: int) -> None:
    memory = np.full(256, 0xFF, np.uint8)
    start = -memory.ctypes.data % BYTES
    where = memory[start : start + BYTES]
    text = COPY.replace("LANES", str(lanes))
    if lanes < 32:
        with pytest.raises(Trap, match="a part of a warp"):
            run_ptx(text, "copy", (1,), (64,), [where], shared=256)
        return
    assert run_ptx(text, "copy", (1,), (64,), [where], shared=256).faults == []
    assert where.view(np.int32).tolist() == list(range(32))

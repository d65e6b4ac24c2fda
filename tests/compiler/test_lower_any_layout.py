"""Moving operations and conversions in layouts that no memory access would choose: random ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockstep.compiler import layouts
from blockstep.compiler.layouts import matrices
from blockstep.compiler.lower import Options, convert
from blockstep.compiler.placement import memory
from blockstep.ir import Layout, Operation
from tests.compiler import moving_kernels as kernels
from tests.compiler.run_lowered import RNG, check, compiled, integers
from tests.compiler.simt import simulate


def tidy(bits: int, warps: int) -> Layout:
    """A layout whose bases are single bits, in any order, and copies."""
    count = max(bits, 5 + warps) + int(RNG.integers(0, 2))
    images = [1 << bit for bit in range(bits)] + [0] * (count - bits)
    bases = [int(b) for b in RNG.permutation(images)]
    cut = count - 5 - warps
    made = bases[:cut], bases[cut : cut + 5], bases[cut + 5 :]
    return Layout((1 << bits,), *map(tuple, made))


def mixed(layout: Layout, warps_too: bool) -> Layout:
    """Bases of a layout added to each other at random: of registers and lanes, or of all."""
    bases = list(layout.registers + layout.lanes + layout.warps)
    count = len(bases) if warps_too else len(layout.registers) + 5
    for _ in range(2 * count):
        a, b = (int(n) for n in RNG.choice(count, 2, replace=False))
        if RNG.integers(0, 3):
            bases[a], bases[b] = bases[b], bases[a]
        else:
            bases[a] ^= bases[b]
    cut = len(layout.registers)
    made = bases[:cut], bases[cut : cut + 5], bases[cut + 5 :]
    return Layout(layout.shape, *map(tuple, made))


def held(monkeypatch: pytest.MonkeyPatch, loaded: Layout, stored: Layout) -> None:
    """Loads and stores are made in these layouts, whatever suits memory."""

    def wanted(operation: Operation, *_: Any) -> Layout:
        layout = loaded if operation.name == "load" else stored
        shape = operation.operands[0].type.shape
        return (
            layout if shape == layout.shape else layouts.coalesced(shape, (0,), 1, layout.num_warps)
        )

    monkeypatch.setattr(memory, "wanted", wanted)
    monkeypatch.setattr(memory, "is_good", lambda *_: False)


def kinds_of_pairs(warps: int, count: int) -> Iterator[tuple[Layout, Layout]]:
    """Pairs of layouts of one block, of every kind of conversion."""
    for _ in range(count):
        bits = int(RNG.integers(0, 10))
        first = tidy(bits, warps)
        yield first, tidy(bits, warps)
        yield first, mixed(first, warps_too=False)
        yield mixed(first, warps_too=False), first
        yield mixed(first, warps_too=True), mixed(first, warps_too=True)


@pytest.mark.parametrize("warps", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int32, np.float64])
def test_conversions(monkeypatch: pytest.MonkeyPatch, dtype: Any, warps: int) -> None:
    kinds = set()
    for loaded, stored in kinds_of_pairs(warps, 8):
        held(monkeypatch, loaded, stored)
        kinds.add(type(layouts.plan(loaded, stored, np.dtype(dtype).itemsize)).__name__)
        x = integers(loaded.shape, dtype)
        check(kernels.copy, [x], [x], x.size, warps=1 << warps, assembled=False)
    assert {"Shuffle", "Shared"} <= kinds or not warps


@pytest.mark.parametrize("warps", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_conversions_in_rounds(monkeypatch: pytest.MonkeyPatch, dtype: Any, warps: int) -> None:
    """With little room a block takes several rounds through the same shared memory."""
    monkeypatch.setattr(convert, "ROOM", 128)
    barriers = set()
    for _ in range(12):
        loaded, stored = tidy(9, warps), tidy(9, warps)
        held(monkeypatch, loaded, stored)
        x = integers(loaded.shape, dtype)
        counts = check(kernels.copy, [x], [x], x.size, warps=1 << warps, assembled=False)
        barriers.add(counts.get("barriers", 0))
    assert max(barriers) >= 4


@pytest.mark.parametrize(("warps", "rows"), [(4, 256), (8, 128)])
def test_a_large_block_takes_little_shared_memory(warps: int, rows: int) -> None:
    x = integers((rows, 128))
    arrays = [x, np.zeros_like(x)]
    for kernel, expected in ((kernels.flip, np.flip(x, 0)), (kernels.scan, x.cumsum(0, np.int32))):
        constants = (x.shape, x.size, 0, False) if kernel is kernels.scan else (x.shape, x.size, 0)
        module = compiled(kernel, arrays, constants, Options(num_warps=warps))
        assert 0 < module.shared <= convert.ROOM < x.nbytes
        simulate(module, arrays, warps)
        np.testing.assert_array_equal(arrays[1], expected)


@pytest.mark.parametrize("warps", [0, 1, 3])
def test_conversions_of_truth(monkeypatch: pytest.MonkeyPatch, warps: int) -> None:
    for loaded, stored in kinds_of_pairs(warps, 4):
        held(monkeypatch, loaded, stored)
        x = integers(loaded.shape)
        check(kernels.positive, [x], [(x > 0).astype(np.int32)], x.size, warps=1 << warps,
              assembled=False)  # fmt: skip


@pytest.mark.parametrize("warps", [0, 1, 2, 3])
def test_operations_in_any_layout(monkeypatch: pytest.MonkeyPatch, warps: int) -> None:
    for loaded, stored in kinds_of_pairs(warps, 4):
        held(monkeypatch, loaded, stored)
        x, z = integers(loaded.shape), integers(loaded.shape)
        n, many = x.size, 1 << warps
        check(kernels.flip, [x], [x[::-1].copy()], (n,), n, 0, warps=many, assembled=False)
        total = np.cumsum(x, dtype=np.int32)
        check(kernels.scan, [x], [total], (n,), n, 0, False, warps=many, assembled=False)
        both = np.concatenate([x, z])
        check(kernels.cat, [x, z], [both], (n,), n, 0, warps=many, assembled=False)
        k = integers((n,), low=0, high=n)
        check(kernels.gather, [x, k], [x[k]], (n,), n, (n,), n, 0, warps=many, assembled=False)
        counts = np.bincount(k, minlength=2 * n).astype(np.int32)
        check(kernels.histogram, [k], [counts], n, 2 * n, warps=many, assembled=False)
        check(kernels.sort, [x], [np.sort(x)], (n,), n, False, warps=many, assembled=False)
        if n > 8:
            rows = x.reshape(4, -1)
            check(kernels.reduce, [x], [rows.max(1)], rows.shape, n, 1, warps=many, assembled=False)
            check(kernels.reduce, [x], [rows.max(0)], rows.shape, n, 0, warps=many, assembled=False)
            pairs = x.reshape(-1, 2)
            halves = [pairs[:, 0].copy(), pairs[:, 1].copy()]
            check(kernels.split, [x], halves, pairs.shape, n, warps=many, assembled=False)
            swaps = np.stack([pairs[:, 1] + z[::2], pairs[:, 0] - z[1::2]], -1).reshape(-1)
            check(kernels.packed, [x, z], [swaps], n, warps=many, assembled=False)


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [("llvm.nvvm.barrier.cta.sync.aligned.all", "without a barrier"), ("shfl", "equal")],
)
def test_the_machine_sees_what_is_missing(spoiled: str, message: str) -> None:
    """A barrier left out is a race; a shuffle that is not done gives wrong numbers."""
    x = integers((4096,))
    arrays = [x, np.zeros_like(x)]
    module = compiled(kernels.scan, arrays, ((4096,), 4096, 0, False), Options(num_warps=4))
    if spoiled == "shfl":
        pattern = r"call i32 @llvm.nvvm.shfl.sync.idx.i32\(i32 -1, i32 (%\w+), .*"
        text = re.sub(pattern, r"add i32 \1, 0", module.text)
    else:
        text = re.sub(r"\n  call void @llvm.nvvm.barrier.cta.*", "", module.text)
    with pytest.raises(AssertionError, match=message):
        simulate(replace(module, text=text), arrays, 4)
        np.testing.assert_array_equal(arrays[1], np.cumsum(x, dtype=np.int32))


ROOM = convert.ROOM
FRAGMENTS = [
    *[layouts.mma_accumulator(shape, warps)
      for shape, warps in (((32, 32), (1, 1)), ((64, 64), (2, 2)), ((16, 128), (1, 4)))],
    *[layouts.wgmma_accumulator(shape, warps, n)
      for shape, warps, n in (((64, 64), 4, 64), ((128, 128), 8, 128), ((64, 128), 8, 64),
                              ((256, 128), 4, 128))],
]  # fmt: skip


@pytest.mark.parametrize("room", [ROOM, 4096])
@pytest.mark.parametrize("vector", [1, 2, 8])
@pytest.mark.parametrize("dtype", [np.float16, np.int16])
@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda f: f"{f.shape}-{f.num_warps}")
def test_fragments_are_stored_as_matrices(
    monkeypatch: pytest.MonkeyPatch, fragment: Layout, dtype: Any, vector: int, room: int
) -> None:
    monkeypatch.setattr(convert, "ROOM", room)
    shape = (fragment.numel,)
    rows = layouts.coalesced(fragment.shape, (1, 0), vector, fragment.num_warps)
    loaded, stored = replace(fragment, shape=shape), replace(rows, shape=shape)
    held(monkeypatch, loaded, stored)
    x = integers(shape, dtype)
    counts = check(kernels.copy, [x], [x], x.size, warps=fragment.num_warps, assembled=False)
    warps = fragment.num_warps
    if vector == 8 and warps > 1 and room == ROOM:  # one warp's lanes tell each other
        assert counts["matrices"] == x.size // (warps * 256)  # four matrices of 64 elements each
        assert counts["shared loads"] == x.size // (warps * 256)


@pytest.mark.parametrize("capability", [80, 90])
def test_only_what_the_instruction_takes_is_matrices(capability: int) -> None:
    fragment = layouts.mma_accumulator((64, 64), (2, 2))
    assert (matrices.whole_rows(fragment, 2, capability) is not None) == (capability == 90)
    assert matrices.whole_rows(fragment, 4, capability) is None
    twice = replace(fragment, registers=(*fragment.registers, 0))
    assert matrices.whole_rows(twice, 2, capability) is None
    assert matrices.whole_rows(layouts.mma_accumulator((16, 16), (1, 2)), 2, capability) is None

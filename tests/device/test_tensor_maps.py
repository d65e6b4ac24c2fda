"""Tensor maps, stores and reductions of the copy engine on a device of compute capability 9.0.

    python -m pytest tests/device/test_tensor_maps.py
    python -m pytest -p tests.device.on_gpu tests/ptx/test_tensor_stores.py \\
        tests/ptx/test_stores_beside_engine.py tests/ptx/test_tensor_maps.py \\
        tests/ops/test_descriptors.py

The second also runs every launch of those tests there, and compares bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.runtime.gpu.driver import present
from tests.agreement.loops_of_products import grouped, persistent
from tests.ptx.test_stores_beside_engine import AT, PLACES, mixed, read_back, sums
from tests.ptx.test_stores_beside_engine import combined as combined_at
from tests.ptx.test_stores_beside_engine import ranked as ranked_at
from tests.ptx.test_tensor_maps import product
from tests.ptx.test_tensor_stores import combined, fragment, over, ranked

if not present():
    pytest.skip("needs a CUDA device and cuda-python", allow_module_level=True)
torch = pytest.importorskip("torch", reason="its arrays are what launches take")
if not torch.cuda.is_available():
    pytest.skip("needs a torch with CUDA", allow_module_level=True)
if torch.cuda.get_device_capability() < (9, 0):
    pytest.skip("needs compute capability 9.0", allow_module_level=True)


def small(*shape: int, dtype: Any = None) -> Any:
    """Small integers, so that every order of sums gives the same bits."""
    return torch.randint(-3, 4, shape, device="cuda").to(dtype or torch.float16)


def cdiv(n: int, block: int) -> int:
    return -(-n // block)


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("size", [(128, 128, 64), (1008, 528, 272), (4096, 2048, 512)], ids=str)
@pytest.mark.parametrize("stages", [1, 4])
def test_a_product_through_descriptors_of_the_kernel(size: Any, ctas: int, stages: int) -> None:
    M, N, K = size
    a, b, c = small(M, K), small(K, N), torch.empty(M, N, device="cuda")
    grid = cdiv(M, 128), cdiv(N, 128)
    told = {"BM": 128, "BN": 128, "BK": 64, "num_ctas": ctas, "num_stages": stages}
    for _ in range(3):
        c.fill_(9)
        kernel = product[grid](a, b, c, M, N, K, **told, num_warps=8)
        assert torch.equal(c, (a.double() @ b.double()).float())
    assert "tensormap.cp_fenceproxy" in kernel.asm["ptx"]


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("programs", [1, 7, 132])
def test_a_loop_of_stores(programs: int, halves: bool) -> None:
    a, b = small(20_000, 256), small(256, 64)
    c = torch.empty(20_000, 64, device="cuda", dtype=torch.float16)
    persistent[(programs,)](a, b, c, 20_000, 256, cdiv(20_000, 64), 64, 64, 32, halves)
    assert torch.equal(c, (a.double() @ b.double()).half())


def test_a_map_for_each_turn_some_of_arrays_without_rows() -> None:
    sizes = torch.tensor([40, 0, 64, 16, 0, 48], device="cuda", dtype=torch.int32)
    rows = int(sizes.sum())
    a, b, c = small(rows, 96), small(96, 64), torch.full((rows + 8, 64), 7.0, device="cuda")
    grouped[(1,)](a, b, c, sizes, 96, len(sizes), 64, 64, 32)
    assert torch.equal(c[:rows], (a.double() @ b.double()).float())
    assert (c[rows:] == 7).all()


@pytest.mark.parametrize(
    ("shape", "block", "at"),
    [
        ((400,), (64,), (16,)), ((400,), (1024,), (-8,)), ((40, 64), (16, 16), (30, -3)),
        ((3, 6, 40), (2, 4, 32), (2, 3, -8)), ((2, 3, 5, 24), (2, 2, 4, 16), (1, 2, -1, 12)),
        ((2, 2, 3, 5, 16), (2, 2, 2, 2, 16), (1, -1, 2, 4, 3)), ((600, 8), (512, 8), (100, 0)),
        ((8, 600), (4, 512), (5, 70)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_blocks_of_one_to_five_axes(shape: Any, block: Any, at: Any, dtype: str) -> None:
    kind, n = getattr(torch, dtype), int(np.prod(block))
    x = (torch.arange(n, device="cuda") % 200).to(kind)
    out = torch.zeros(shape, device="cuda", dtype=kind)
    if any(s * out.element_size() % 16 for s in out.stride()[:-1]) or block[-1] * x.itemsize < 16:
        pytest.skip("not what the hardware takes")
    ranked[(1,)](x, out, SHAPE=shape, STRIDES=out.stride(), BLOCK=block, AT=at, N=n)
    expected = np.zeros([n + 2 * m for n, m in zip(shape, block, strict=True)], dtype)
    inside = tuple(slice(m + o, m + o + m) for m, o in zip(block, at, strict=True))
    expected[inside] = x.cpu().numpy().reshape(block)
    expected = expected[tuple(slice(m, m + n) for n, m in zip(shape, block, strict=True))]
    assert np.array_equal(out.cpu().numpy(), expected)


def placed(out: Any, block: Any, at: Any) -> Any:
    """`out` with a block in it, as far as it is inside."""
    for place in np.ndindex(block.shape):
        there = tuple(n + a for n, a in zip(place, at, strict=True))
        if all(0 <= n < m for n, m in zip(there, out.shape, strict=True)):
            out[there] = block[place]
    return out


@pytest.mark.parametrize(("shape", "block", "at"), PLACES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("ctas", [1, 2])
def test_places_that_the_engine_does_not_take(
    shape: Any, block: Any, at: Any, dtype: str, ctas: int
) -> None:
    n, kind = int(np.prod(block)), getattr(torch, dtype)
    x, out = torch.arange(n, device="cuda").to(kind), torch.zeros(shape, device="cuda", dtype=kind)
    told = {"SHAPE": shape, "STRIDES": out.stride(), "BLOCK": block, "N": n, "num_ctas": ctas}
    ranked_at[(1,)](x, out, at, **told)
    expected = placed(np.zeros(shape, dtype), x.cpu().numpy().reshape(block), at)
    assert np.array_equal(out.cpu().numpy(), expected)


@pytest.mark.parametrize("op", ["add", "min", "max"])
@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
@pytest.mark.parametrize("at", [(-5, 16), (2, 3), (-4, -3)], ids=str)
def test_blocks_are_combined_where_the_engine_does_not(op: str, dtype: str, at: Any) -> None:
    kind = getattr(torch, dtype)
    x = torch.randint(0, 9, (8, 16), device="cuda").to(kind)
    out = torch.randint(0, 9, (400, 32), device="cuda").to(kind)
    combine: Any = {"add": torch.add, "min": torch.minimum, "max": torch.maximum}[op]
    expected, block = out.cpu().clone(), x.cpu()
    for program in range(90):
        top, left = at[0] + 4 * program, at[1]
        rows, columns = slice(max(top, 0), top + 8), slice(max(left, 0), left + 16)
        part = block[max(-top, 0) :, max(-left, 0) :]
        expected[rows, columns] = combine(expected[rows, columns], part)
    combined_at[(90,)](x, out, None, *at, 400, 32, BM=8, BN=16, OP=op)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("ctas", [1, 2])
def test_what_lanes_and_the_engine_write_is_written_in_turn(ctas: int) -> None:
    rng = np.random.default_rng(1)
    x, at = rng.integers(0, 99, 64 * len(AT)).astype(np.int32), torch.from_numpy(AT).cuda()
    expected = np.zeros(400, np.int32)
    for block, first in zip(np.sort(x.reshape(-1, 64)), AT.tolist(), strict=True):
        placed(expected, block, (first,))
    for _ in range(50):
        out = torch.zeros(400, device="cuda", dtype=torch.int32)
        told = {"BLOCK": 64, "num_ctas": ctas}
        mixed[(1,)](torch.from_numpy(x).cuda(), at, out, 400, len(AT), **told)
        assert np.array_equal(out.cpu().numpy(), expected)


@pytest.mark.parametrize("kernel", [read_back, sums], ids=["read back", "sums"])
def test_both_ways_of_a_loop_give_what_the_grid_machine_gives(kernel: Any) -> None:
    import blockstep

    rng = np.random.default_rng(2)
    x, out = rng.integers(0, 99, 64 * len(AT)).astype(np.int32), np.zeros(400, np.int32)
    near = [torch.from_numpy(array.copy()).cuda() for array in (x, AT, out)]
    kernel[(1,)](*near, 400, len(AT), BLOCK=64)
    with blockstep.machine("grid"):
        kernel[(1,)](x, AT, out, 400, len(AT), BLOCK=64)
    assert np.array_equal(near[2].cpu().numpy(), out)


@pytest.mark.parametrize("columns", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_fragments_of_any_width(columns: int, dtype: str) -> None:
    x, y = small(128, 16), small(16, columns)
    out = torch.zeros(250, columns + 16, device="cuda", dtype=getattr(torch, dtype))
    fragment[(2, 2)](x, y, out, *out.shape, BM=128, BN=columns, BK=16)
    whole = (x.double() @ y.double()).to(out.dtype).repeat(2, 2)
    assert torch.equal(out, whole[:250, : columns + 16])


@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("passed", [False, True])
def test_blocks_are_combined_with_memory(op: str, dtype: str, passed: bool) -> None:
    from blockstep.tools.tensor_descriptor import TensorDescriptor

    kind = getattr(torch, dtype)
    if kind.is_floating_point and op in ("and", "or", "xor") or (op, dtype) == ("add", "int64"):
        pytest.skip("no such operation")
    if (op, dtype) in (("min", "float32"), ("max", "float32")):
        pytest.skip("no such operation")
    x = torch.randint(0, 9, (8, 16), device="cuda").to(kind)
    out = torch.randint(0, 9, (4000, 32), device="cuda").to(kind)
    expected = out.clone().cpu()
    combine: Any = {
        "add": torch.add, "min": torch.minimum, "max": torch.maximum,
        "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    }[op]  # fmt: skip
    for program in range(999):
        rows = slice(4 * program, 4 * program + 8)
        expected[rows, 8:24] = combine(expected[rows, 8:24], x.cpu())
    desc = TensorDescriptor.from_tensor(out, [8, 16]) if passed else None
    combined[(999,)](x, out, desc, 4000, 32, BM=8, BN=16, OP=op)
    assert torch.equal(out.cpu(), expected)


def test_what_lanes_read_and_write_as_well_is_in_order() -> None:
    x = torch.arange(128, device="cuda", dtype=torch.int32)
    out = torch.zeros(512, device="cuda", dtype=torch.int32)
    now, left = x.cpu().numpy().copy(), np.zeros(512, np.int32)
    for k in range(4):
        left[64 * k : 64 * k + 128] = now + k
        now = np.roll(left[64 * k : 64 * k + 128], -1)
    over[(1,)](x, out, 512, BLOCK=128)
    assert np.array_equal(out.cpu().numpy(), left)
    assert np.array_equal(x.cpu().numpy(), now)


def test_a_graph_and_launches_beside_it_do_not_share_maps() -> None:
    a, b = small(2048, 256), small(256, 256)
    outs = [torch.empty(2048, 256, device="cuda") for _ in range(3)]
    grid, told = (16, 2), {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}

    def launch(out: Any) -> None:
        product[grid](a, b, out, 2048, 256, 256, **told)

    launch(outs[0])
    graph, streams = torch.cuda.CUDAGraph(), [torch.cuda.Stream() for _ in range(2)]
    with torch.cuda.graph(graph):
        launch(outs[0])
    torch.cuda.synchronize()
    for out in outs:
        out.fill_(9)
    torch.cuda.synchronize()
    for _ in range(50):
        graph.replay()
        for stream, out in zip(streams, outs[1:], strict=True):
            with torch.cuda.stream(stream):
                launch(out)
    torch.cuda.synchronize()
    expected = (a.double() @ b.double()).float()
    assert all(torch.equal(out, expected) for out in outs)

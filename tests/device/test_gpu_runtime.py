"""The gpu machine on a real device, with hand-written PTX in the place of a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockstep as triton
from blockstep import testing
from blockstep.findings import Span
from blockstep.runtime.gpu import Binary, Site, selection, synchronize
from blockstep.runtime.gpu.driver import present
from blockstep.runtime.gpu.failures import DoesNotFit, MixedDevices, NotAssembled
from blockstep.runtime.gpu.faults import KernelAssertion
from blockstep.runtime.gpu.machine import machine
from tests.device import kernels

if not present():
    pytest.skip("needs a CUDA device and cuda-python", allow_module_level=True)
torch = pytest.importorskip("torch", reason="its arrays are what launches take")
if not torch.cuda.is_available():
    pytest.skip("needs a torch with CUDA", allow_module_level=True)
ROOT = Path(__file__).parent.parent.parent
hopper = pytest.mark.skipif(
    torch.cuda.get_device_capability() < (9, 0), reason="needs compute capability 9.0"
)


def add(x, y, out, n):
    pass


def ranks(out):
    pass


def shared(out, last):
    pass


def checks(bad):
    pass


def box(x, out, rows, columns, column):
    pass


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`compiled(function, binary)`: a kernel whose code is `binary`."""
    codes: dict[str, Binary] = {}
    monkeypatch.setattr(
        selection, "compiler", lambda: lambda function, bound, options: codes[function.__name__]
    )

    def kernel(function: Any, binary: Binary) -> Any:
        codes[function.__name__] = binary
        return triton.jit(function)

    return kernel


@pytest.fixture
def adding(compiled: Any) -> Any:
    return compiled(add, kernels.vector_add())


def arrays(n: int, device: str = "cuda") -> tuple[Any, Any, Any]:
    return (
        torch.arange(float(n), device=device), torch.full((n,), 2.0, device=device),
        torch.zeros(n, device=device),
    )  # fmt: skip


def test_a_vector_add_launches_again_and_again(adding: Any) -> None:
    x, y, out = arrays(1000)
    for _ in range(3):
        out.zero_()
        handle = adding[(8,)](x, y, out, 1000)
        assert torch.equal(out, x + y)
    assert (handle.n_spills, handle.metadata.shared) == (0, 0)
    assert 0 < handle.n_regs < 64


def test_the_launch_is_in_the_current_stream(adding: Any) -> None:
    x, y, out = arrays(1 << 22)
    adding[(1,)](x, y, out, 0)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            y.add_(1)
        adding[((1 << 22) // 128,)](x, y, out, 1 << 22)
        total = out.clone()
    torch.cuda.synchronize()
    assert torch.equal(total, x + 52)


def test_a_launch_is_captured_into_a_graph(adding: Any) -> None:
    x, y, out = arrays(1000)
    adding[(8,)](x, y, out, 1000)
    torch.cuda.synchronize()
    out.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        adding[(8,)](x, y, out, 1000)
    torch.cuda.synchronize()
    assert not out.any()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def test_host_arrays_are_copied_there_and_back(adding: Any) -> None:
    x, y, out = np.arange(300, dtype=np.float32), np.ones(300, np.float32), np.zeros(300, "f4")
    with triton.machine("gpu"):
        adding[(3,)](x[50:], y[50:], out[50:], 250)
    assert out.tolist() == [*[0] * 50, *(x[50:] + 1).tolist()]


def test_a_thread_of_its_own_launches(adding: Any) -> None:
    x, y, out = arrays(1000)
    adding[(8,)](x, y, out, 0)
    threads = [threading.Thread(target=lambda: adding[(8,)](x, y, out, 1000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)


def test_programmatic_and_cooperative_launches(compiled: Any) -> None:
    x, y, out = arrays(1000)
    for rest in ({"launch_pdl": True}, {"launch_cooperative_grid": True}):
        out.zero_()
        compiled(add, kernels.vector_add(**rest))[(8,)](x, y, out, 1000)
        assert torch.equal(out, x + y)


@hopper
@pytest.mark.parametrize("num_ctas", [2, 8, 16])
def test_program_instances_of_several_ctas_are_clusters(compiled: Any, num_ctas: int) -> None:
    out = torch.full((3 * num_ctas, 2), -1, dtype=torch.int32, device="cuda")
    compiled(ranks, kernels.cluster_ranks(num_ctas))[(3,)](out)
    assert out.tolist() == [[i % num_ctas, num_ctas] for i in range(3 * num_ctas)]


def test_all_the_shared_memory_of_a_device_can_be_used(compiled: Any) -> None:
    most = machine().driver.device(0).shared_limit
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    compiled(shared, kernels.shared_memory(most))[(1,)](out, most - 4)
    assert out.item() == 42
    with pytest.raises(DoesNotFit, match="lower num_stages") as caught:
        compiled(shared, kernels.shared_memory(most + 4))[(1,)](out, most)
    assert (caught.value.required, caught.value.limit) == (most + 4, most)


def test_refused_ptx_shows_the_line(compiled: Any) -> None:
    broken = kernels.VECTOR_ADD.replace("add.f32 %f3", "add.f33 %f3")
    made = Binary(broken, "add", 0, 4, 1, kernels.vector_add().parameters)
    with pytest.raises(NotAssembled, match=r"line \d+") as caught:
        compiled(add, made)[(1,)](*arrays(4), 4)
    assert "f33" in str(caught.value)


def test_too_large_a_grid_is_refused(adding: Any) -> None:
    with pytest.raises(DoesNotFit, match="grid y"):
        adding[(1, 70000)](*arrays(4), 4)


def test_a_failed_assertion_names_the_line_and_the_program_instance(compiled: Any) -> None:
    checking = compiled(checks, kernels.assertion(Site(Span("k.py", 7, 5), "positive")))
    with triton.machine("gpu"):
        checking[(8,)](9)
        synchronize()
        checking[(8,)](3)
        with pytest.raises(
            KernelAssertion, match=r"(?s)positive.*k\.py:7:5.*\(3, 0, 0\), element 1"
        ):
            synchronize()
        checking[(8,)](9)
        synchronize()


@hopper
def test_a_tensor_map_gives_a_box_and_zeros_outside(compiled: Any) -> None:
    boxed = compiled(box, kernels.boxed())
    x = torch.arange(3 * 32.0, device="cuda").reshape(3, 32)
    for column in (0, 8, 24):
        out = torch.full((4, 16), -1.0, device="cuda")
        boxed[(1,)](x, out, 3, 32, column)
        wanted = torch.nn.functional.pad(x, (0, 16, 0, 1))[:, column : column + 16]
        assert torch.equal(out, wanted)


def test_do_bench_tells_device_time(adding: Any) -> None:
    n = 1 << 26
    x, y, out = arrays(n)
    ms = testing.do_bench(lambda: adding[(n // 128,)](x, y, out, n), warmup=10, rep=50)
    rate = 3 * 4 * n / ms / 1e6  # GB/s
    assert 0.2 * testing.get_dram_gbps() < rate < 1.1 * testing.get_dram_gbps()
    small = testing.do_bench(lambda: adding[(8,)](x, y, out, 1000), warmup=5, rep=20)
    graph = testing.do_bench_cudagraph(lambda: adding[(8,)](x, y, out, 1000), rep=5)
    assert 0 < graph < small < 0.1


def test_torch_functions_are_timed_on_the_device() -> None:
    x = torch.ones(1 << 26, device="cuda")
    ms = testing.do_bench(lambda: torch.add(x, x), warmup=10, rep=50)
    assert ms > 0.05


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two devices")
def test_the_arrays_device_decides_and_mixed_ones_are_named(adding: Any) -> None:
    for device in ("cuda:1", "cuda:0"):
        x, y, out = arrays(1000, device)
        for _ in range(2):
            out.zero_()
            adding[(8,)](x, y, out, 1000)
            assert torch.equal(out, x + y)
    with pytest.raises(MixedDevices, match="`x` is on cuda:0 and `y` on cuda:1"):
        adding[(8,)](x, y.to("cuda:1"), out, 1000)


FAULT = """
import sys, torch
import blockstep as triton
from blockstep.runtime.gpu import selection
from tests.device import kernels
selection.compiler = lambda: lambda function, bound, options: kernels.vector_add()
@triton.jit
def add(x, y, out, n): pass
x = torch.zeros(4, device="cuda")
add[(1 << 20,)](x, x, x, 1 << 27)
from blockstep.runtime.gpu import synchronize
try:
    synchronize()
except RuntimeError as error:
    print(error)
"""


def test_an_illegal_address_names_the_kernel(tmp_path: Any) -> None:
    script = tmp_path / "fault.py"
    script.write_text(FAULT)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env=environment
    )
    assert "`add` touched memory that belongs to no allocation" in done.stdout, done.stderr
    assert "compute-sanitizer" in done.stdout

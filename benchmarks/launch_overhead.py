"""Host time of one launch, in µs: ours, torch.add's, and the driver's own.

    python benchmarks/launch_overhead.py [--launches 20000]

The kernel adds 128 numbers, so that the device is done before the host is. Batches are short and
the least of them counts: what is measured is the work, not the machine's other guests. Needs a GPU
and torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.gpu import selection
from blockstep.runtime.gpu.machine import machine
from tests.device import kernels

BATCH = 200


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, total, mask=mask)


def microseconds(fn: Callable[[], Any], launches: int) -> float:
    """The least mean time of a batch of calls."""
    fn()
    times = []
    for _ in range(max(1, launches // BATCH)):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(BATCH):
            fn()
        times.append((time.perf_counter() - began) / BATCH * 1e6)
    torch.cuda.synchronize()
    return min(times)


def measured(launches: int) -> dict[str, float]:
    """By name, µs."""
    x, y, out = (torch.ones(128, device="cuda") for _ in range(3))
    first = add[(1,)](x, y, out, 128, BLOCK=128)
    (launcher,) = machine()._launchers.values()
    values = x.data_ptr(), y.data_ptr(), out.data_ptr(), 128
    api = machine().driver.api
    frame = launcher.frame()
    stream = torch.cuda.current_stream().cuda_stream

    def bare() -> None:
        api.cuLaunchKernel(first.function, 1, 1, 1, 128, 1, 1, 0, stream, frame.addresses, 0)

    launcher.fill_whole(frame, 1, 1, 1, stream, values)
    direct = launcher.direct()
    assert direct is not None, "with several GPUs, let CUDA_VISIBLE_DEVICES name one"
    grid = (1,)
    kept = add[grid]
    return {
        "kernel[grid](x, y, out, n, BLOCK=128)": microseconds(
            lambda: add[grid](x, y, out, 128, BLOCK=128), launches
        ),
        "the same with kernel[grid] kept": microseconds(
            lambda: kept(x, y, out, 128, BLOCK=128), launches
        ),
        "kernel[lambda meta: ...](...)": microseconds(
            lambda: add[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](
                x, y, out, 128, BLOCK=128
            ),
            launches,
        ),
        "the loaded kernel's launch alone": microseconds(
            lambda: launcher.launch(1, 1, 1, stream, values), launches
        ),
        "cuLaunchKernel of cuda.bindings": microseconds(bare, launches),
        "cuLaunchKernelEx through ctypes": microseconds(
            lambda: direct.call(frame.start, direct.code, frame.array, None), launches
        ),
        "torch.add(x, y, out=out)": microseconds(lambda: torch.add(x, y, out=out), launches),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    told = parser.parse_args()
    if selection.compiler() is None:  # hand-written code stands in for compiled code
        selection.compiler = lambda: lambda *launch: kernels.vector_add()
    times = measured(told.launches)
    if told.json:
        print(json.dumps(times))
        return
    print(f"{torch.cuda.get_device_name()}, least mean of batches of {BATCH}")
    for name, value in times.items():
        print(f"{value:8.2f} µs  {name}")


if __name__ == "__main__":
    main()

"""`triton.testing`: timing, comparing, tables of benchmarks.

Nothing here needs torch, pandas or matplotlib. A function that launches on a GPU is timed there,
with events and a cold L2. Of one that does not, times are wall-clock times of the machine that
interprets: they compare two versions of a kernel on that machine and say nothing about a chip.
"""

from __future__ import annotations

import functools
import math
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from blockstep import target as devices
from blockstep.errors import UnsupportedError
from blockstep.runtime.gpu import driver as gpu_driver
from blockstep.runtime.gpu import timing
from blockstep.runtime.gpu.streams import torch_stream
from blockstep.tables import Benchmark, Mark, perf_report

__all__ = [
    "Benchmark", "Mark", "assert_close", "cuda_memcheck", "do_bench", "do_bench_cudagraph",
    "get_dram_gbps", "get_max_simd_tflops", "get_max_tensorcore_tflops", "nvsmi", "perf_report",
    "set_gpu_clock",
]  # fmt: skip

ESTIMATES = 5
MOST_RUNS = 1000
RETURN_MODES = ("min", "max", "mean", "median", "all")
SUBCORES = 4


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """Values of `attrs` from the program nvidia-smi."""
    query = [
        "nvidia-smi",
        "-i",
        "0",
        f"--query-gpu={','.join(attrs)}",
        "--format=csv,noheader,nounits",
    ]
    return [int(value) for value in subprocess.check_output(query, text=True).split(",")]


def _quantile(times: Sequence[float], quantiles: Sequence[float]) -> list[float]:
    """Quantiles of `times`, interpolated linearly between neighbours."""
    ordered = sorted(times)

    def at(q: float) -> float:
        if not 0 <= q <= 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        point = q * (len(ordered) - 1)
        lower = math.floor(point)
        fraction = point - lower
        return (1 - fraction) * ordered[lower] + fraction * ordered[math.ceil(point)]

    return [at(q) for q in quantiles]


def _summarize_statistics(
    times: list[float], quantiles: Sequence[float] | None, return_mode: str
) -> Any:
    if quantiles is not None:
        values = _quantile(times, quantiles)
        return values[0] if len(values) == 1 else values
    if return_mode == "all":
        return times
    summary: dict[str, Callable[[list[float]], float]] = {
        "min": min, "max": max, "mean": statistics.mean, "median": statistics.median,
    }  # fmt: skip
    return summary[return_mode](times)


def _forget_gradients(tensors: Sequence[Any] | None) -> None:
    for tensor in tensors or ():
        tensor.grad = None


def _timed(fn: Callable[[], Any], runs: int, before: Callable[[], None]) -> list[float]:
    """Milliseconds of each of `runs` calls of `fn`, `before` being called untimed before each."""
    from blockstep.runtime.compat.driver import driver

    interface = driver.active.get_device_interface()
    times = []
    for _ in range(runs):
        before()
        start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        start.record()
        fn()
        end.record()
        interface.synchronize()
        times.append(start.elapsed_time(end))
    return times


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Time of one call of `fn` in ms: a summary of about `rep` ms of calls, after `warmup` ms of
    them. On a device it is the time of the work that `fn` enqueues there, the L2 being cold."""
    from blockstep.runtime.compat.driver import driver

    if return_mode not in RETURN_MODES:
        raise ValueError(f"return_mode is one of {', '.join(RETURN_MODES)}, not {return_mode!r}")
    if timing.launches_on_device(fn):
        timer = timing.Timer(gpu_driver.driver())
        times = timer(fn, warmup, rep, functools.partial(_forget_gradients, grad_to_none))
        return _summarize_statistics(times, quantiles, return_mode)
    cache = driver.active.get_empty_cache_for_benchmark()

    def before() -> None:
        _forget_gradients(grad_to_none)
        driver.active.clear_cache(cache)

    first = _timed(fn, 1, before)[0]
    estimate = first if first > rep else statistics.mean(_timed(fn, ESTIMATES, before))
    for _ in range(_runs(warmup, estimate) - 1):
        fn()
    return _summarize_statistics(_timed(fn, _runs(rep, estimate), before), quantiles, return_mode)


def _runs(budget: float, estimate: float) -> int:
    return max(1, min(MOST_RUNS, int(budget / max(estimate, 1e-6))))


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """As `do_bench`, with many calls in one CUDA graph, so that the host's part does not count.

    A graph takes a GPU and torch; without them there is nothing that one would save, and it is
    `do_bench`."""
    if torch_stream() is not None and timing.launches_on_device(fn):
        times = timing.graph_times(fn, rep, functools.partial(_forget_gradients, grad_to_none))
        return _summarize_statistics(times, quantiles, return_mode)
    return do_bench(fn, rep, rep, grad_to_none, quantiles, return_mode)


def _array(value: Any) -> np.ndarray[Any, Any]:
    """`value` as a NumPy array; types NumPy does not compute in become float32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        narrow = value.is_floating_point() and value.element_size() < 4
        value = (value.float() if narrow else value).numpy()
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)


def _tolerance(given: Any, value: Any, default: float) -> float:
    if given is None:
        return default
    return float(given(value.dtype) if callable(given) else given)


def assert_close(x: Any, y: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """AssertionError unless |x - y| <= atol + rtol |y| everywhere; NaN equals NaN.

    `atol` (1e-2 if not given) and `rtol` (0) are numbers or functions of the type of `x` and `y`.
    """
    left, right = _array(x), _array(y)
    atol = _tolerance(atol, x if hasattr(x, "dtype") else left, 1e-2)
    rtol = _tolerance(rtol, x if hasattr(x, "dtype") else left, 0.0)
    if left.size > 1 or right.size > 1:
        np.testing.assert_allclose(
            left, right, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg
        )
    elif not np.allclose(left, right, atol=atol, rtol=rtol):
        raise AssertionError(f"{err_msg} {left} is not close to {right} (atol={atol}, rtol={rtol})")


def get_dram_gbps(device: Any = None) -> float:
    """Peak memory bandwidth in GB/s, from the device profile."""
    return devices.current().bandwidth


def _name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).split(".")[-1]


TENSOR_CORE_OPS = {
    "float32": 256, "int32": 256, "float16": 512, "bfloat16": 512, "int16": 512,
    "int8": 1024, "fp8e4nv": 1024, "fp8e4b15": 1024, "fp8e5": 1024,
    "fp32": 256, "fp16": 512, "bf16": 512,
}  # fmt: skip


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """Peak TFLOP/s of the tensor cores at `clock_rate` kHz, by Triton's figures per sub-core."""
    target = devices.current()
    if target.capability[0] < 8:
        raise UnsupportedError(
            "unsupported: tensor-core figures are known from compute capability 8.0 on"
        )
    operations = TENSOR_CORE_OPS.get(_name(dtype))
    if operations is None:
        raise RuntimeError("dtype not supported")
    return target.multiprocessors * SUBCORES * clock_rate * operations * 1e-9


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """Peak TFLOP/s outside the tensor cores at `clock_rate` kHz, by Triton's figures."""
    operations = {"float32": 32, "fp32": 32, "float16": 64, "fp16": 64, "bfloat16": 64, "bf16": 64}
    if _name(dtype) not in operations:
        raise RuntimeError("dtype not supported")
    return (
        devices.current().multiprocessors * SUBCORES * clock_rate * operations[_name(dtype)] * 1e-9
    )


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that changes nothing: every launch here is checked already."""
    return lambda test: test


@contextmanager
def set_gpu_clock(
    ref_sm_clock: int = 1350, ref_mem_clock: int = 1215
) -> Iterator[tuple[float, float]]:
    """Inside the `with`: (TFLOP/s, GB/s) of the device profile at these clocks in MHz. No clock is
    changed."""
    target = devices.current()
    tflops = 1e-6 * 2 * target.multiprocessors * SUBCORES * 256 * ref_sm_clock
    yield tflops, target.memory_bus / 8 * 2 * ref_mem_clock * 1e-3

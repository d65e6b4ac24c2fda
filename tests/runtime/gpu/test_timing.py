"""`do_bench` of what launches on a device, with a driver on paper whose clock advances by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
from blockstep import testing
from blockstep.runtime.gpu import driver
from blockstep.runtime.gpu.timing import runs
from tests.runtime.gpu.arrays import Tensor, install_torch
from tests.runtime.gpu.test_machine import Setting, copy_kernel, pair


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    made = Setting(monkeypatch)
    monkeypatch.setattr(driver, "driver", lambda: made.machine.driver)
    return made


def launching(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> Any:
    install_torch(monkeypatch, lambda ordinal: 6)
    kernel = triton.jit(copy_kernel)
    x, out = pair(setting.api, Tensor)
    return lambda: kernel[(1,)](x, out, 4, BLOCK=4)


def test_a_launch_is_timed_by_events_with_a_cold_cache(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    fn = launching(setting, monkeypatch)
    before = set(setting.api.memory)
    times = testing.do_bench(fn, warmup=9, rep=9, return_mode="all")
    assert times == [6.0 + i for i in range(len(times))]
    calls = [c for c in setting.api.calls if "Record" in c or "Memset" in c or "LaunchK" in c]
    assert calls[-4:] == ["cuMemsetD8Async", "cuEventRecord", "cuLaunchKernel", "cuEventRecord"]
    assert set(setting.api.memory) == before
    assert setting.api.calls.count("cuEventCreate") == setting.api.calls.count("cuEventDestroy")


def test_the_host_waits_once_for_all_timed_calls(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    fn = launching(setting, monkeypatch)
    testing.do_bench(fn, warmup=1, rep=60)
    assert setting.api.calls.count("cuCtxSynchronize") == 3


def test_what_is_interpreted_is_timed_on_the_host(setting: Setting) -> None:
    kernel = triton.jit(copy_kernel)
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    assert testing.do_bench(lambda: kernel[(1,)](x, out, 4, BLOCK=4), warmup=1, rep=1) > 0
    assert "cuEventRecord" not in setting.api.calls


def test_gradients_are_forgotten_before_each_call(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leaf:
        grad: Any = 1

    leaf, seen = Leaf(), []
    launch = launching(setting, monkeypatch)

    def fn() -> None:
        seen.append(leaf.grad)
        leaf.grad = 1
        launch()

    testing.do_bench(fn, warmup=0, rep=0, grad_to_none=[leaf])
    assert seen == [1, *[None] * 5, 1, None]


def test_the_summary_is_as_on_the_host(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    fn = launching(setting, monkeypatch)
    low, high = testing.do_bench(fn, warmup=1, rep=30, quantiles=[0.0, 1.0])
    assert low < high
    with pytest.raises(ValueError, match="best"):
        testing.do_bench(fn, return_mode="best")


def test_tuning_measures_launches_on_a_device_and_puts_back_what_they_wrote(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_torch(monkeypatch, lambda ordinal: 0)
    configs = [triton.Config({"BLOCK": size}) for size in (2, 4)]
    kernel = triton.autotune(configs, key=["n"])(triton.jit(copy_kernel))
    x, out = pair(setting.api, Tensor, n=4)
    monkeypatch.setattr(testing, "do_bench", lambda call, *told, quantiles: _timed(call, setting))
    kernel[(1,)](x, out, 4)
    assert kernel.best_config is configs[1]
    assert out.tolist() == [0, 1, 2, 3]
    assert len(setting.api.launches) == 3
    host = np.zeros(4, np.float32)
    other = triton.autotune(configs, key=["n"])(triton.jit(copy_kernel))
    other[(2,)](np.arange(4, dtype=np.float32), host, 4)
    assert other.best_config is configs[0]


def _timed(call: Any, setting: Setting) -> list[float]:
    call()
    return [10.0 - len(setting.api.launches)] * 3


@pytest.mark.parametrize(("budget", "estimate", "count"), [(100, 3, 33), (0, 3, 1), (1, 0, 10_000)])
def test_runs_fill_the_budget(budget: float, estimate: float, count: int) -> None:
    assert runs(budget, estimate) == count


def test_a_table_without_matplotlib_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    table = testing.Benchmark(["n"], [1, 2], "way", ["a"], ["A"], "speed", ylabel="ms")
    testing.perf_report(table)(lambda n, way: float(n)).run(save_path=str(tmp_path))
    assert "speed: no figure, because matplotlib is not installed" in capsys.readouterr().out
    assert (tmp_path / "speed.csv").read_text().splitlines()[1] == "1,1.000000"

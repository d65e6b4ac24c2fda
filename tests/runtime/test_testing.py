"""`triton.testing` without torch, pandas or matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep import target, testing


def test_do_bench_reports_milliseconds() -> None:
    calls: list[int] = []
    time = testing.do_bench(lambda: calls.append(1), warmup=1, rep=1)
    assert 0 < time < 100
    assert len(calls) > 6


def test_do_bench_calls_something_slow_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        testing, "_timed", lambda fn, runs, before: [fn() or 500.0 for _ in range(runs)]
    )
    calls: list[int] = []
    testing.do_bench(lambda: calls.append(1), warmup=25, rep=100)
    assert len(calls) == 3


def test_quantiles_interpolate() -> None:
    assert testing._quantile([3.0, 1.0, 2.0], [0, 0.5, 0.75]) == [1.0, 2.0, 2.5]
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        testing._quantile([1.0], [1.5])


@pytest.mark.parametrize(
    ("mode", "value"),
    [("min", 1.0), ("max", 4.0), ("mean", 2.0), ("median", 1.0), ("all", [1.0, 4.0, 1.0])],
)
def test_return_modes(mode: str, value: Any) -> None:
    assert testing._summarize_statistics([1.0, 4.0, 1.0], None, mode) == value


def test_one_quantile_is_a_number() -> None:
    assert isinstance(testing.do_bench(lambda: None, warmup=0, rep=0, quantiles=[0.5]), float)
    assert len(testing.do_bench_cudagraph(lambda: None, rep=0, quantiles=[0.5, 0.9])) == 2


def test_an_unknown_return_mode_is_named() -> None:
    with pytest.raises(ValueError, match="not 'best'"):
        testing.do_bench(lambda: None, return_mode="best")


def test_gradients_are_forgotten() -> None:
    class Leaf:
        grad: Any = 1

    leaf = Leaf()
    testing.do_bench(lambda: None, warmup=0, rep=0, grad_to_none=[leaf])
    assert leaf.grad is None


def test_assert_close_uses_an_absolute_tolerance_by_default() -> None:
    testing.assert_close(np.zeros(2), np.full(2, 9e-3))
    with pytest.raises(AssertionError):
        testing.assert_close(np.zeros(2), np.full(2, 2e-2))
    testing.assert_close([1.0, float("nan")], [1.0, float("nan")])


def test_assert_close_of_single_numbers_names_them() -> None:
    with pytest.raises(
        AssertionError, match=r"here 1.0 is not close to 2.0 \(atol=0.01, rtol=0.0\)"
    ):
        testing.assert_close(1.0, 2.0, err_msg="here")
    testing.assert_close(1.0, 2.0, rtol=lambda dtype: 0.5)


def test_assert_close_of_torch_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    testing.assert_close(x, x + 1e-3)


def test_device_figures_come_from_the_profile() -> None:
    with target.using("a100"):
        assert 1900 < testing.get_dram_gbps() < 2100
        assert 300 < testing.get_max_tensorcore_tflops(np.dtype("float16"), 1_410_000) < 320
        assert 18 < testing.get_max_simd_tflops("float32", 1_410_000) < 20
    with pytest.raises(RuntimeError, match="dtype not supported"):
        testing.get_max_tensorcore_tflops("float64", 1)


def benchmark(**kwargs: Any) -> testing.Benchmark:
    given = {"x_names": ["n"], "x_vals": [1, 2], "line_arg": "how", "line_vals": ["a", "b"]}
    return testing.Benchmark(
        **{
            **given,
            "line_names": ["A", "B"],
            "plot_name": "speed",
            "ylabel": "ms",
            "args": {},
            **kwargs,
        }
    )


def rate(n: int, how: str, m: int = 0) -> Any:
    return (n * 1.0, 0.0, 9.0) if how == "a" else n * 2.0


def rows(table: Any) -> list[dict[str, Any]]:
    return table if isinstance(table, list) else table.to_dict("records")


def test_a_report_has_a_row_for_each_point() -> None:
    table = testing.perf_report(benchmark())(rate).run(return_df=True)
    assert rows(table) == [
        {"n": 1, "A (ms)": 1.0, "B (ms)": 2.0},
        {"n": 2, "A (ms)": 2.0, "B (ms)": 4.0},
    ]


def test_a_report_is_printed_and_saved(tmp_path: Path, capsys: Any) -> None:
    mark = testing.perf_report([benchmark()])(rate)
    assert mark.run(print_data=True, save_path=str(tmp_path), diff_col=True) is None
    out = capsys.readouterr().out
    assert out.startswith("speed:") and "A (ms)" in out and "1.000000" in out
    assert (tmp_path / "speed.csv").read_text().splitlines()[:2] == [
        "n,A (ms),B (ms),Diff",
        "1,1.000000,2.000000,1.000000",
    ]


def test_a_scalar_stands_for_every_name_and_a_list_must_fit() -> None:
    several = benchmark(x_names=["n", "m"], x_vals=[3, (4, 5)])
    assert list(several.points()) == [{"n": 3, "m": 3}, {"n": 4, "m": 5}]
    with pytest.raises(ValueError, match="Expected 2 values"):
        list(benchmark(x_names=["n", "m"], x_vals=[(1, 2, 3)]).points())

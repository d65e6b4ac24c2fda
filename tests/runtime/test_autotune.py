"""Tuning: what is chosen, what is tried, and that no trial leaves a trace."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import blockstep
from blockstep.errors import AutotunerError, OutOfResources
from blockstep.runtime import autotune as tuning
from blockstep.runtime.autotune import Autotuner, Config, autotune, heuristics


class Kernel:
    """A jit function as far as tuning sees it: it records its launches and runs `body`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.arg_names = list(fn.__code__.co_varnames[: fn.__code__.co_argcount])
        self.launches: list[dict[str, Any]] = []

    def run(self, *args: Any, grid: Any, warmup: bool, num_warps: int = 4, **kwargs: Any) -> Any:
        for option in ("num_ctas", "num_stages", "maxnreg"):
            kwargs.pop(option, None)
        self.launches.append({"num_warps": num_warps, "warmup": warmup, **kwargs})
        if num_warps > 32:
            raise OutOfResources(num_warps * 32, 1024, "threads")
        return self.fn(*args, **kwargs)

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        return self.run(*args, grid=grid, warmup=True, **kwargs)


@pytest.fixture(autouse=True)
def _rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tuning.ENVIRONMENT, raising=False)
    monkeypatch.delenv("TRITON_PRINT_AUTOTUNING", raising=False)


def scale(x: Any, n: Any, BLOCK: int = 0) -> int:
    x *= 2
    return BLOCK


TWO = [Config({"BLOCK": 32}), Config({"BLOCK": 64})]
TOO_WIDE = Config({"BLOCK": 16}, num_warps=64)


def tuned(configs: list[Config], **kwargs: Any) -> tuple[Autotuner, Kernel]:
    kernel = Kernel(kwargs.pop("body", scale))
    return autotune(configs, key=kwargs.pop("key", ["n"]), **kwargs)(kernel), kernel


def once(kernel: Callable[[], Any], quantiles: Any) -> list[float]:
    """A timer that launches twice and reports a constant."""
    kernel()
    kernel()
    return [1.0, 1.0, 1.0]


def test_the_first_configuration_is_taken_and_runs_once() -> None:
    tuner, kernel = tuned(TWO)
    x = np.ones(4)
    assert tuner[(1,)](x, 4) == 32
    assert x.tolist() == [2] * 4
    assert len(kernel.launches) == 1
    assert tuner.best_config == TWO[0]
    assert list(tuner.configs_timings) == [TWO[0]]
    assert tuner.bench_time > 0


def test_an_in_place_kernel_is_right_on_its_first_call_although_it_is_tuned() -> None:
    tuner, _ = tuned(TWO, do_bench=once)
    x = np.ones(4)
    tuner[(1,)](x, 4)
    assert x.tolist() == [2] * 4


def test_atomic_sums_do_not_multiply_on_a_new_shape() -> None:
    def add(total: Any, n: Any, BLOCK: int = 0) -> None:
        total += n

    tuner, kernel = tuned(TWO, body=add, do_bench=once)
    total = np.zeros(1)
    tuner[(1,)](total, 5)
    tuner[(1,)](total, 6)
    assert total.tolist() == [11]
    assert len(kernel.launches) == 2 * (2 * 2 + 1)


def test_what_does_not_fit_is_passed_over() -> None:
    tuner, _ = tuned([TOO_WIDE, *TWO])
    assert tuner[(1,)](np.ones(1), 1) == 32
    assert tuner.configs_timings[TOO_WIDE] == [float("inf")] * 3


def test_memory_written_before_the_failure_is_put_back() -> None:
    def body(x: Any, n: Any, BLOCK: int = 0) -> None:
        x += 1
        if BLOCK == 32:
            raise OutOfResources(2, 1, "shared memory")

    tuner, _ = tuned(TWO, body=body)
    x = np.zeros(2)
    tuner[(1,)](x, 2)
    assert x.tolist() == [1, 1]


def test_when_nothing_fits_the_reason_goes_to_the_caller() -> None:
    tuner, _ = tuned([TOO_WIDE, Config({"BLOCK": 1}, num_warps=128)])
    with pytest.raises(OutOfResources, match="Required: 4096, Hardware limit: 1024"):
        tuner[(1,)](np.ones(1), 1)


def test_other_errors_are_the_kernels() -> None:
    def body(x: Any, n: Any, BLOCK: int = 0) -> None:
        raise ZeroDivisionError

    tuner, _ = tuned(TWO, body=body)
    with pytest.raises(ZeroDivisionError):
        tuner[(1,)](np.ones(1), 1)


def test_a_new_key_value_or_type_tunes_again() -> None:
    tuner, _ = tuned(TWO)
    for x, n in ((np.ones(1), 1), (np.ones(1), 1), (np.ones(1), 2), (np.ones(1, np.float32), 1)):
        tuner[(1,)](x, n)
    tuner[(1,)](n=2, x=np.ones(1))
    assert list(tuner.cache) == [(1, "float64"), (2, "float64"), (1, "float32")]


def test_one_configuration_is_not_tuned() -> None:
    tuner, _ = tuned([TWO[1]], do_bench=once)
    assert tuner[(1,)](np.ones(1), 1) == 64
    assert not tuner.cache
    assert tuner.best_config == TWO[1]


def test_no_configurations_means_the_defaults() -> None:
    tuner, kernel = tuned([])
    tuner[(1,)](np.ones(1), 1)
    assert kernel.launches == [{"num_warps": 4, "warmup": False}]


def test_measuring_takes_the_fastest() -> None:
    times = iter([[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]])
    tuner, _ = tuned(TWO, do_bench=lambda call, quantiles: next(times))
    tuner[(1,)](np.ones(1), 1)
    assert tuner.best_config == TWO[1]


def test_the_rule_measure_times_every_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tuning.ENVIRONMENT, "measure")
    tuner, _ = tuned(TWO, warmup=0, rep=0)
    tuner[(1,)](np.ones(1), 1)
    assert list(tuner.configs_timings) == TWO


def test_the_rule_every_tries_each_configuration_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tuning.ENVIRONMENT, "every")
    tuner, kernel = tuned(TWO)
    tuner[(1,)](np.ones(1), 1)
    assert list(tuner.configs_timings) == TWO and tuner.best_config == TWO[0]
    assert len(kernel.launches) == len(TWO) + 1


def test_an_unknown_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tuning.ENVIRONMENT, "best")
    with pytest.raises(ValueError, match="it is one of first, measure, every, rerun"):
        tuning.rule()


def test_a_meta_parameter_given_twice_is_refused() -> None:
    tuner, _ = tuned(TWO)
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        tuner[(1,)](np.ones(1), 1, BLOCK=8)


def test_hooks_come_in_pairs_and_see_the_exception() -> None:
    log: list[Any] = []
    tuner, _ = tuned(
        [TOO_WIDE, *TWO],
        pre_hook=lambda kwargs, reset_only=False: log.append(("pre", reset_only)),
        post_hook=lambda kwargs, exception: log.append(("post", type(exception).__name__)),
    )
    tuner[(1,)](np.ones(1), 1)
    tried = [("pre", False), ("post", "OutOfResources"), ("pre", False), ("post", "NoneType")]
    assert log == [*tried, ("pre", True)]


def test_the_hook_of_a_configuration_runs_before_each_launch() -> None:
    seen: list[int] = []
    config = Config({"BLOCK": 8}, pre_hook=lambda nargs: seen.append(nargs["BLOCK"]))
    tuner, _ = tuned([config, *TWO])
    for _ in range(2):
        tuner[(1,)](np.ones(1), 1)
    assert seen == [8, 8]


def test_reset_to_zero_and_restore_value() -> None:
    def body(x: Any, y: Any, n: Any, BLOCK: int = 0) -> None:
        x += 1
        y += 1

    tuner, _ = tuned(TWO, body=body, reset_to_zero=["x"], restore_value=["y"], do_bench=once)
    x, y = np.full(2, 9.0), np.full(2, 9.0)
    tuner[(1,)](x, y, 1)
    assert (x.tolist(), y.tolist()) == ([1, 1], [10, 10])


def test_overlapping_views_and_the_rest_of_their_storage_are_put_back() -> None:
    def body(x: Any, y: Any, n: Any, BLOCK: int = 0) -> None:
        x.base[...] += 1
        if BLOCK == 32:
            raise OutOfResources(2, 1, "registers")

    storage = np.zeros(8)
    tuner, _ = tuned(TWO, body=body)
    tuner[(1,)](storage[::2], storage[1:], 1)
    assert storage.tolist() == [1] * 8


def test_torch_tensors_are_put_back() -> None:
    torch = pytest.importorskip("torch")
    tuner, _ = tuned(TWO, do_bench=once)
    x = torch.ones(4)
    tuner[(1,)](x, 4)
    assert x.tolist() == [2] * 4


def test_a_second_launch_that_changes_the_result_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(tuning.ENVIRONMENT, "rerun")
    tuner, _ = tuned(TWO)
    x = np.ones(4)
    with pytest.warns(
        tuning.RerunChangesResult, match=r"scale: .* changes 'x'.*restore_value=\['x'\]"
    ):
        tuner[(1,)](x, 4)
    assert x.tolist() == [2] * 4


@pytest.mark.parametrize("restored", [None, ["x"]])
def test_a_judged_run_finds_what_tuning_would_corrupt(restored: list[str] | None) -> None:
    tl = blockstep.language

    def twice(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n, other=0) * 2, mask=at < n)

    kernel = autotune(TWO, key=["n"], restore_value=restored)(blockstep.jit(twice))
    x = np.ones(40, np.float32)
    with blockstep.check() as report:
        for _ in range(2):
            kernel[lambda meta: (-(-40 // meta["BLOCK"]),)](x, 40)
    assert x.tolist() == [4] * 40
    found = [(f.kind, f.argument, f.occurrences) for f in report.findings]
    assert found == ([] if restored else [("order", "x", 1)])


def test_a_kernel_that_can_be_rerun_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(x: Any, n: Any, BLOCK: int = 0) -> None:
        x[...] = 7

    monkeypatch.setenv(tuning.ENVIRONMENT, "rerun")
    tuner, _ = tuned(TWO, body=body)
    restored, _ = tuned(TWO, restore_value=["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuner[(1,)](np.ones(2), 2)
        restored[(1,)](np.ones(2), 2)


def test_early_pruning_sees_positional_and_keyword_arguments_apart() -> None:
    seen: dict[str, Any] = {}

    def prune(configs: list[Config], named: dict[str, Any], **kwargs: Any) -> list[Config]:
        seen.update(named=list(named), n=kwargs["n"])
        return configs[1:]

    tuner, _ = tuned(TWO, prune_configs_by={"early_config_prune": prune})
    assert tuner[(1,)](np.ones(1), n=3) == 64
    assert seen == {"named": ["x"], "n": 3}


def test_a_model_keeps_the_best() -> None:
    rules = {"perf_model": lambda **kwargs: -kwargs["BLOCK"], "top_k": 1}
    tuner, _ = tuned(TWO, prune_configs_by=rules)
    assert tuner[(1,)](np.ones(1), 1) == 64


def test_top_k_is_a_number_or_a_share() -> None:
    tuner, _ = tuned(TWO, prune_configs_by={"perf_model": lambda **kwargs: 0, "top_k": 1.5})
    with pytest.raises(TypeError, match="top_k must be either"):
        tuner[(1,)](np.ones(1), 1)


def test_pruning_everything_is_an_error() -> None:
    tuner, _ = tuned(TWO, prune_configs_by={"early_config_prune": lambda *a, **k: []})
    with pytest.raises(AutotunerError, match="No valid autotuner configs after pruning"):
        tuner[(1,)](np.ones(1), 1)


def test_printing_names_the_choice(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    tuner, _ = tuned(TWO)
    tuner[(1,)](np.ones(1), 1)
    assert "autotuning for function scale" in capsys.readouterr().out


def test_warming_up_prepares_every_configuration() -> None:
    tuner, kernel = tuned(TWO)
    assert tuner.warmup(np.ones(1), 1, grid=(1,)) == [32, 64]
    assert [launch["warmup"] for launch in kernel.launches] == [True, True]


def test_heuristics_see_the_arguments_and_each_other() -> None:
    kernel = Kernel(lambda x, n, EVEN, BOTH: (EVEN, BOTH))
    wrapped = heuristics(
        {"EVEN": lambda a: a["n"] % 2 == 0, "BOTH": lambda a: (a["EVEN"], a["n"])}
    )(kernel)
    assert wrapped[(1,)](None, 4) == (True, (True, 4))
    assert wrapped[(1,)](None, n=3) == (False, (False, 3))


def test_a_configuration_is_a_value() -> None:
    config = Config({"BLOCK": 8}, num_warps=2, maxnreg=64)
    assert config == pickle.loads(pickle.dumps(config))
    assert len({config, Config({"BLOCK": 8}, num_warps=2, maxnreg=64)}) == 1
    assert config.all_kwargs() == {
        "BLOCK": 8,
        "num_warps": 2,
        "num_ctas": 1,
        "num_stages": 3,
        "maxnreg": 64,
    }
    assert str(config) == "BLOCK: 8, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: 64"


def test_a_derived_tuner_that_benches_itself_tries_until_one_runs() -> None:
    class Derived(Autotuner):
        def run(self, *args: Any, **kwargs: Any) -> Any:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            timings = {
                c: self._bench(*args, config=c, **kwargs) for c in self.prune_configs(kwargs)
            }
            return min(timings, key=lambda c: timings[c])

    kernel = Kernel(scale)
    tuner = Derived(
        kernel, kernel.arg_names, [TOO_WIDE, *TWO], ["n"], None, None, warmup=25, rep=100
    )
    x = np.ones(2)
    assert tuner[(1,)](x, 2) == TWO[0]
    assert len(kernel.launches) == 2
    assert x.tolist() == [1, 1]

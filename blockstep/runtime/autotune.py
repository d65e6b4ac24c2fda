"""`triton.autotune`, `triton.heuristics`, `triton.Config`.

Launches on a device are timed. On a machine that interprets, timing says nothing about the chip, so
there a configuration is chosen by a fixed rule. `BLOCKSTEP_AUTOTUNE` chooses another:

* `first` (default on the host): the first configuration that runs. Nothing else is tried.
* `measure` (default on a device): every configuration is timed with `do_bench`. Passing `do_bench=`
  to the decorator asks for this too.
* `every`: every configuration is launched once, so that each is judged; the first that runs counts.
* `rerun`: as `first`, and the kernel is launched a second time on what the first launch left.
  Arguments that then change would be wrong after Triton's own tuning, which launches many times on
  the same memory: `RerunChangesResult` warns about them (`restore_value` and `reset_to_zero` are
  the cure). Judged runs always do this, and file a finding instead.

Invariant: whatever a trial writes is put back, all of it, before the next trial and before the
launch that counts, whether or not `restore_value` names it. OutOfResources,
CompileTimeAssertionFailure and PTXASError exclude a configuration; every other exception is the
kernel's and goes to the caller. Libraries derive from `Autotuner`: its attributes and the
signatures of `run`, `_bench`, `prune_configs` are Triton's.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blockstep import knobs
from blockstep.errors import (
    AutotunerError,
    CompileTimeAssertionFailure,
    OutOfResources,
    PTXASError,
)
from blockstep.language.interface import KernelInterface
from blockstep.runtime import rerun, session
from blockstep.runtime.config import Config, Hook, Pruning
from blockstep.runtime.gpu.selection import on_device
from blockstep.runtime.rerun import RerunChangesResult
from blockstep.runtime.snapshot import Snapshot

__all__ = [
    "Autotuner", "AutotunerError", "Config", "Heuristics", "KernelInterface", "OutOfResources",
    "PTXASError", "RerunChangesResult", "autotune", "heuristics",
]  # fmt: skip

ENVIRONMENT = "BLOCKSTEP_AUTOTUNE"
RULES = ("first", "measure", "every", "rerun")
EXCLUDED = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
NEVER = [float("inf")] * 3
UNTRIED = [sys.float_info.max] * 3


def rule(on_device: bool = False) -> str:
    """The rule in force for launches on a device, or for others."""
    chosen = os.environ.get(ENVIRONMENT, RULES[1] if on_device else RULES[0])
    if chosen not in RULES:
        raise ValueError(f"{ENVIRONMENT}={chosen!r}: it is one of {', '.join(RULES)}")
    return chosen


class Autotuner(KernelInterface[Any]):
    """A kernel with configurations to choose from, for each new value of its key."""

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Hook | None = None,
        post_hook: Hook | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Hook | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = _python_function(fn)
        self.__name__: str = self.base_fn.__name__
        self.arg_names = arg_names
        self.configs = list(configs) or [Config({})]
        self.keys = key
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.cache_results = cache_results
        self.reset_to_zero = list(reset_to_zero or [])
        self.restore_value = list(restore_value or [])
        self.restore_copies: dict[str, Any] = {}
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook: Hook = pre_hook or self._reset
        self.post_hook: Hook = post_hook or self._restore
        self.pruning = Pruning(prune_configs_by)
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench
        self.nargs: dict[str, Any] | None = None
        self.best_config: Config | None = None
        self.bench_time = 0.0
        self.configs_timings: dict[Config, Any] = {}
        self._settled: dict[str, Any] | None = None
        self._on_device = False  # the launches of the call that is tuned for

    @property
    def do_bench(self) -> Hook:
        """The user's timer, or one of ours."""
        if self._do_bench is not None:
            return self._do_bench
        if rule(self._on_device) == "every":
            return _once
        from blockstep.testing import do_bench

        warmup = 25 if self.num_warmups is None else self.num_warmups
        rep = 100 if self.num_reps is None else self.num_reps
        return lambda call, quantiles: do_bench(call, warmup, rep, quantiles=quantiles)

    @property
    def measured(self) -> bool:
        """Whether every configuration is tried rather than taken by the fixed rule."""
        return self._do_bench is not None or rule(self._on_device) in ("measure", "every")

    def _reset(self, kwargs: dict[str, Any], reset_only: bool = False) -> None:
        for name in self.reset_to_zero:
            if kwargs[name] is not None:
                _zero(kwargs[name])
        if not reset_only:
            values = {name: kwargs[name] for name in self.restore_value}
            self.restore_copies = {n: Snapshot([v]) for n, v in values.items() if v is not None}

    def _restore(self, kwargs: dict[str, Any], exception: BaseException | None) -> None:
        for copy in self.restore_copies.values():
            copy.restore()
        self.restore_copies = {}

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Choose a configuration (once a key), then launch with it."""
        nargs = self.nargs = dict(zip(self.arg_names, args, strict=False))
        tuned = len(self.cache)
        try:
            config, result = self._choose(nargs, args, kwargs)
            if result is _NOTHING:
                if config.pre_hook is not None:
                    config.pre_hook({**nargs, **kwargs, **config.all_kwargs()})
                result = self.fn.run(*args, **kwargs, **config.all_kwargs())
            if len(self.cache) > tuned and self._doubted():
                self._rerun(nargs, args, kwargs, config)
            return result
        finally:
            self.nargs = None

    def _doubted(self) -> bool:
        """Whether to find out what launching again would change."""
        asked = rule() == "rerun" or session.current().options.judged
        return asked and not self.user_defined_post_hook

    def _choose(
        self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Config, Any]:
        """The configuration to use, and the result if finding it already was the launch."""
        result = _NOTHING
        if len(self.configs) == 1:
            self.best_config = self.configs[0]
            return self.best_config, result
        key = self._key(nargs, kwargs)
        if key not in self.cache:
            current = session.current()
            self._on_device = on_device([*nargs.values(), *kwargs.values()], current)
            began = time.perf_counter()
            if self.measured or self.user_defined_pre_hook or self.user_defined_post_hook:
                self.cache[key] = self._tune(args, kwargs)
                self.pre_hook({**nargs, **kwargs, **self.cache[key].all_kwargs()}, reset_only=True)
            else:
                self.cache[key], result = self._first(nargs, args, kwargs)
            self.bench_time = time.perf_counter() - began
            self._announce(key, self.cache[key])
        self.best_config = self.cache[key]
        return self.best_config, result

    def _key(self, nargs: dict[str, Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        named = {k: v for k, v in {**nargs, **kwargs}.items() if k in self.arg_names}
        values = [named[name] for name in self.keys if name in named]
        return (*values, *(str(v.dtype) for v in named.values() if hasattr(v, "dtype")))

    def _announce(self, key: tuple[Any, ...], config: Config) -> None:
        if knobs.autotuning.print:
            print(
                f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};"
            )

    def _first(
        self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Config, Any]:
        """Launch with the first configuration that is not excluded; that launch is the one that
        counts."""
        configs = self.prune_configs(kwargs)
        before = Snapshot([*args, *kwargs.values()]) if len(configs) > 1 else Snapshot([])
        self.configs_timings = {}
        for config in configs:
            try:
                with session.excusing(*EXCLUDED):
                    result, elapsed = self._launch(nargs, args, kwargs, config)
            except EXCLUDED as error:
                self._report_excluded(config, error)
                before.restore()
                continue
            self.configs_timings[config] = [elapsed] * 3
            if rule() == "rerun":
                self._rerun(nargs, args, kwargs, config)
            return config, result
        return configs[-1], self._launch(nargs, args, kwargs, configs[-1])[0]  # raises, to be heard

    def _launch(
        self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], config: Config
    ) -> tuple[Any, float]:
        """One launch as after tuning: arguments of `reset_to_zero` are zero, hooks of the
        configuration ran."""
        _refuse_conflicts(config, kwargs)
        named = {**nargs, **kwargs, **config.all_kwargs()}
        self.pre_hook(named, reset_only=True)
        if config.pre_hook is not None:
            config.pre_hook(named)
        began = time.perf_counter()
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        return result, (time.perf_counter() - began) * 1e3

    def _rerun(
        self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], config: Config
    ) -> None:
        """Find out what launching again would change, and say it."""
        named = {**nargs, **kwargs}
        launch = functools.partial(self._launch, nargs, args, kwargs, config)
        changed = rerun.changed(named, self.restore_value, launch)
        if changed:
            rerun.tell(self.__name__, changed, len(self.configs))

    def _tune(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """Time every configuration (or, under the fixed rule, try until one runs) and take the
        best."""
        configs = self.prune_configs(kwargs)
        self.configs_timings = {c: self._bench(*args, config=c, **kwargs) for c in configs}
        return builtins.min(self.configs_timings, key=self.configs_timings.__getitem__)

    def _bench(self, *args: Any, config: Config, **meta: Any) -> Any:
        """Times (median, 20 %, 80 %) of `config` in ms, infinite if it is excluded; memory is put
        back."""
        if not self.measured and self._settled is not None and self._settled is self.nargs:
            return list(UNTRIED)
        if knobs.autotuning.print:
            print(f"Autotuning kernel {self.base_fn.__name__} with config {config}")
        _refuse_conflicts(config, meta)
        before = Snapshot([*args, *meta.values()])
        call = self._trial(args, config, meta)
        try:
            if self.measured:
                with session.excusing(*EXCLUDED):
                    return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
            began = time.perf_counter()
            with session.excusing(*EXCLUDED):
                call()
            self._settled = self.nargs
            return [(time.perf_counter() - began) * 1e3] * 3
        except EXCLUDED as error:
            self._report_excluded(config, error)
            return list(NEVER)
        finally:
            before.restore()

    def _trial(
        self, args: tuple[Any, ...], config: Config, meta: dict[str, Any]
    ) -> Callable[[], None]:
        """A callable that launches with `config` once, between the hooks."""
        current = {**meta, **config.all_kwargs()}
        named = {**(self.nargs or {}), **current}

        def call() -> None:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self.pre_hook(named)
            try:
                self.fn.run(*args, **current)
            except Exception as error:
                self.post_hook(named, exception=error)
                raise
            self.post_hook(named, exception=None)

        return call

    def _report_excluded(self, config: Config, error: Exception) -> None:
        self.configs_timings[config] = list(NEVER)
        if knobs.autotuning.print:
            print(f"Autotuning failed with {error}")

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The configurations worth trying: after `early_config_prune`, the `top_k` of a model."""
        return self.pruning.keep(self.configs, self.nargs or {}, kwargs)

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Warm up every configuration that pruning leaves."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        try:
            configs = self.prune_configs(kwargs)
            return [self.fn.warmup(*args, **kwargs, **c.all_kwargs()) for c in configs]
        finally:
            self.nargs = None


_NOTHING = object()


def _once(call: Callable[[], None], quantiles: Sequence[float]) -> list[float]:
    """One launch that takes as long as every other: the first configuration is the best."""
    call()
    return [1.0] * len(quantiles)


def _refuse_conflicts(config: Config, meta: Mapping[str, Any]) -> None:
    conflicts = meta.keys() & config.kwargs.keys()
    if conflicts:
        raise ValueError(
            f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}."
            " Make sure that you don't re-define auto-tuned symbols."
        )


def _zero(array: Any) -> None:
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0


def _python_function(fn: Any) -> Any:
    while not inspect.isfunction(fn):
        fn = fn.fn
    return fn


class Heuristics(KernelInterface[Any]):
    """A kernel some of whose meta-parameters are computed from the other arguments."""

    def __init__(self, fn: Any, arg_names: Sequence[str], values: Mapping[str, Hook]) -> None:
        self.fn = fn
        self.arg_names = arg_names
        self.values = values
        self.__name__: str = _python_function(fn).__name__

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the values in order, each from the arguments and the earlier ones, and launch."""
        named = dict(zip(self.arg_names, args, strict=False))
        for name, heuristic in self.values.items():
            kwargs[name] = heuristic({**named, **kwargs})
        return self.fn.run(*args, **kwargs)

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        return self.run(*args, grid=grid, warmup=True, **kwargs)


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Hook | None = None,
    post_hook: Hook | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Hook | None = None,
    cache_results: bool = False,
) -> Callable[[Any], Autotuner]:
    """Decorate a jit function with configurations to choose from, anew when a `key` argument
    changes.

    @triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"])
    """

    def decorator(fn: Any) -> Autotuner:
        return Autotuner(
            fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
            post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
            use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results,
        )  # fmt: skip

    return decorator


def heuristics(values: Mapping[str, Hook]) -> Callable[[Any], Heuristics]:
    """Decorate a jit function with meta-parameters that are computed: `{"EVEN": lambda args:
    ...}`."""

    def decorator(fn: Any) -> Heuristics:
        return Heuristics(fn, fn.arg_names, values)

    return decorator

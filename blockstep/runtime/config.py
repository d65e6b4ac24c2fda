"""`triton.Config` and how configurations are thinned out before any of them runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blockstep.errors import AutotunerError

OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")

Hook = Callable[..., Any]


class Config:
    """One configuration: meta-parameters in `kwargs`, and launch options."""

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Hook | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Config({}).__dict__, **state)

    def all_kwargs(self) -> dict[str, Any]:
        """Meta-parameters and the options that are set, as launch keywords."""
        options = {name: getattr(self, name) for name in OPTIONS}
        return {**self.kwargs, **{k: v for k, v in options.items() if v is not None}}

    def _identity(self) -> tuple[Any, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        shown = {**self.kwargs, **{name: getattr(self, name) for name in OPTIONS[:4]}}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    def __repr__(self) -> str:
        return f"Config({self})"


class Pruning:
    """The `prune_configs_by` of a tuner: `early_config_prune`, then the `top_k` best of
    `perf_model`."""

    def __init__(self, rules: Mapping[str, Any] | None) -> None:
        rules = rules or {}
        self.early: Hook | None = rules.get("early_config_prune")
        self.model: Hook | None = rules.get("perf_model")
        self.top_k: Any = rules.get("top_k", 1.0)

    def keep(
        self, configs: Sequence[Config], named: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> list[Config]:
        """The configurations worth trying for these arguments; AutotunerError if none is left."""
        kept = list(configs)
        if self.early is not None:
            kept = list(self.early(kept, named, **keywords))
            if not kept:
                raise AutotunerError(
                    "No valid autotuner configs after pruning. "
                    "`early_config_prune` should return at least one config."
                )
        if self.model is None:
            return kept
        count = _top_k(self.top_k, len(configs))
        if len(kept) <= count:
            return kept
        cost = {c: self.model(**named, **keywords, **c.all_kwargs()) for c in kept}
        return sorted(kept, key=lambda c: cost[c])[:count]


def _top_k(top_k: Any, total: int) -> int:
    if isinstance(top_k, float) and top_k <= 1.0:
        return int(total * top_k)
    if isinstance(top_k, int):
        return top_k
    raise TypeError(
        "Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int"
    )

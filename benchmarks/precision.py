"""Float64 shadows: milliseconds a launch beside the grid machine's, and their ratio.

    python benchmarks/precision.py [--repeat 9] [--json FILE]

The sides take turns in one process; medians. `all` measures every program instance, `share` the share
of them that `blockstep precision` measures of large launches (with the launch itself, which it runs too).
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import grid
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.shadows.launching import on_grid, share_of
from blockstep.language.function import launching
from blockstep.runtime import gridded, redirect
from blockstep.runtime.ladder.launch import Launch, take

redirect.install(False)
from benchmarks import kernels  # noqa: E402  (they are written for Triton)

rng = np.random.default_rng(0)
Given = tuple[Any, tuple[Any, ...], tuple[int, ...], dict[str, Any]]


def _floats(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _layer_norm() -> Given:
    x = _floats(1024, 1024)
    args = (x, np.zeros_like(x), _floats(1024), _floats(1024), 1024, 1024, 1e-5)
    return kernels.layer_norm, args, (1024,), {"BLOCK": 1024}


def _swiglu() -> Given:
    a, b = _floats(2**20), _floats(2**20)
    return kernels.swiglu, (a, b, np.zeros_like(a), 2**20), (1024,), {"BLOCK": 1024}


def _dropout() -> Given:
    x = _floats(2**20)
    return kernels.dropout, (x, np.zeros_like(x), 2**20, 0.5, 7), (1024,), {"BLOCK": 1024}


def _matmul() -> Given:
    n = 512
    a, b = (_floats(n, n).astype(np.float16) for _ in range(2))
    args = (a, b, np.zeros((n, n), np.float16), n, n, n, n, 1, n, 1, n, 1)
    return grid.matmul, args, (64,), {"BM": 64, "BN": 64, "BK": 32, "GROUP": 8}


def _of_row(row: Callable[[], Any]) -> Callable[[], Launch]:
    return lambda: captured(row())


def _of_call(make: Callable[[], Given]) -> Callable[[], Launch]:
    def launch() -> Launch:
        kernel, args, size, told = make()
        return take(kernel, args, told, size)

    return launch


ROWS: dict[str, Callable[[], Launch]] = {
    "add 2^20": _of_row(lambda: grid.row_add(2**20)),
    "softmax 1024x1000": _of_row(grid.row_softmax),
    "layer norm 1024x1024": _of_call(_layer_norm),
    "matmul f16 512": _of_call(_matmul),
    "attention f16 4x512x64": _of_row(grid.row_attention),
    "dropout 2^20": _of_call(_dropout),
    "swiglu 2^20": _of_call(_swiglu),
}


def captured(row: Any) -> Launch:
    """The launch of a row of `benchmarks.grid`."""
    found: list[Launch] = []

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> None:
        found.append(take(function, tuple(args), kwargs, grid))

    with launching(launch):
        row.launch()
    return found[0]


def measure(launch: Launch, repeat: int) -> dict[str, Any]:
    """Medians of the sides of one row."""
    ir, plan = gridded.compiled(launch.function, launch.bound, int(launch.told["num_warps"]))
    share = share_of(ir, launch.grid)

    def plain() -> None:
        GridMachine(ir, plan, launch.grid, launch.arguments, UNJUDGED).run()

    def shadowed(part: float) -> None:
        on_grid(ir, plan, launch.arguments, launch.grid, part)

    def chosen() -> None:
        plain()
        shadowed(share)

    sides = {"grid": plain, "all": lambda: shadowed(1.0), "share": chosen}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeat + 1):
        for name, run in sides.items():
            started = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - started)
    found = {name: 1000 * statistics.median(taken) for name, taken in times.items()}
    ratios = {
        name: statistics.median(b / a for a, b in zip(times["grid"], times[name], strict=True))
        for name in ("share", "all")
    }
    return {**found, "measured": share, "ratio": ratios["share"], "ratio of all": ratios["all"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json")
    chosen = parser.parse_args()
    rows = {name: measure(make(), chosen.repeat) for name, make in ROWS.items()}
    for side in ("ratio", "ratio of all"):
        print(f"{side}: median {statistics.median(row[side] for row in rows.values()):.2f}")
    for name, row in rows.items():
        print(f"{name:20} " + "  ".join(f"{k} {v:.3g}" for k, v in row.items()))
    if chosen.json:
        told = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "numpy": np.__version__,
                "python": platform.python_version(), "rows": rows}  # fmt: skip
        Path(chosen.json).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()

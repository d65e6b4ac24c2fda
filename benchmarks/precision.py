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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import grid
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.shadows.launching import on_grid, share_of
from blockstep.language.function import launching
from blockstep.runtime import gridded
from blockstep.runtime.ladder.launch import Launch, take

ROWS = {
    "add 2^20": lambda: grid.row_add(2**20), "softmax 1024x1000": grid.row_softmax,
    "matmul f16": grid.row_matmul, "attention": grid.row_attention,
}  # fmt: skip


def captured(row: Any) -> Launch:
    """The launch of a row of `benchmarks.grid`."""
    found: list[Launch] = []

    def launch(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> None:
        found.append(take(function, tuple(args), kwargs, grid))

    with launching(launch):
        row.launch()
    return found[0]


def measure(row: Any, repeat: int) -> dict[str, Any]:
    """Medians of the sides of one row."""
    launch = captured(row)
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
    ratios = [b / a for a, b in zip(times["grid"], times["share"], strict=True)]
    return {**found, "measured": share, "ratio": statistics.median(ratios)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json")
    chosen = parser.parse_args()
    rows = {name: measure(make(), chosen.repeat) for name, make in ROWS.items()}
    for name, row in rows.items():
        print(f"{name:20} " + "  ".join(f"{k} {v:.3g}" for k, v in row.items()))
    if chosen.json:
        told = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "numpy": np.__version__,
                "python": platform.python_version(), "rows": rows}  # fmt: skip
        Path(chosen.json).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""`Benchmark`, `perf_report`: a function measured over a grid of arguments, as a table.

The table is a pandas DataFrame where pandas is installed, else a list of rows (dictionaries); a
figure is drawn only where matplotlib is installed and a figure is asked for. Printing and CSV need
neither.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass
class Benchmark:
    """What to vary: `x_names` over `x_vals` along an axis, `line_arg` over `line_vals` as lines."""

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: dict[str, Any] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = None

    def points(self) -> Iterator[dict[str, Any]]:
        """The arguments along the x axis; a scalar stands for every name."""
        for value in self.x_vals:
            values = list(value) if isinstance(value, list | tuple) else [value] * len(self.x_names)
            if len(values) != len(self.x_names):
                raise ValueError(f"Expected {len(self.x_names)} values, got {values}")
            yield dict(zip(self.x_names, values, strict=True))

    def labels(self, suffix: str = "") -> list[str]:
        """Column names, one for each line."""
        return [f"{name}{suffix} ({self.ylabel})" for name in self.line_names]


class Mark:
    """A function with benchmarks to run it in."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Measure every point; print, save, draw as asked; with `return_df` return the table or
        tables."""
        single = isinstance(self.benchmarks, Benchmark)
        benchmarks = (
            [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else self.benchmarks
        )
        tables = []
        for benchmark in benchmarks:
            rows = self._measure(benchmark, kwargs)
            if diff_col and len(benchmark.line_names) == 2:
                _add_difference(rows, *benchmark.labels())
            if print_data:
                print(f"{benchmark.plot_name}:\n{_text(rows)}")
            if save_path:
                _save(rows, Path(save_path), benchmark.plot_name, save_precision)
            if benchmark.plot_name and (show_plots or save_path):
                _draw(benchmark, rows, show_plots, save_path)
            tables.append(_table(rows))
        if not return_df:
            return None
        return tables[0] if single else tables

    def _measure(self, benchmark: Benchmark, extra: dict[str, Any]) -> list[Row]:
        rows = []
        for point in benchmark.points():
            row: Row = dict(point)
            for value, label in zip(benchmark.line_vals, benchmark.labels(), strict=True):
                result = self.fn(**point, **{benchmark.line_arg: value}, **benchmark.args, **extra)
                row[label] = result[0] if isinstance(result, tuple | list) else result
            rows.append(row)
        return rows


def _add_difference(rows: list[Row], first: str, second: str) -> None:
    for row in rows:
        row["Diff"] = row[second] - row[first]


def _text(rows: list[Row]) -> str:
    """The rows in columns, as wide as they have to be."""
    if not rows:
        return "(no rows)"
    lines = [["", *rows[0]]]
    lines += [[str(i), *(_number(v) for v in row.values())] for i, row in enumerate(rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _number(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _save(rows: list[Row], folder: Path, name: str, precision: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0] if rows else [])
        for row in rows:
            writer.writerow(
                f"{v:.{precision}f}" if isinstance(v, float) else v for v in row.values()
            )


def _table(rows: list[Row]) -> Any:
    if importlib.util.find_spec("pandas") is None:
        return rows
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return pandas.DataFrame(rows)


def _draw(benchmark: Benchmark, rows: list[Row], show: bool, save_path: str) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        print(f"{benchmark.plot_name}: no figure, because matplotlib is not installed")
        return
    import matplotlib.pyplot as plt  # type: ignore[import-untyped, import-not-found, unused-ignore]

    figure, axes = plt.subplots()
    first = benchmark.x_names[0]
    plain: list[tuple[str | None, str | None]] = [(None, None)] * len(benchmark.line_names)
    styles = benchmark.styles or plain
    for label, (colour, style) in zip(benchmark.labels(), styles, strict=False):
        axes.plot(
            [r[first] for r in rows], [r[label] for r in rows], label=label, color=colour, ls=style
        )
    axes.set(xlabel=benchmark.xlabel or first, ylabel=benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    axes.legend()
    if save_path:
        figure.savefig(Path(save_path) / f"{benchmark.plot_name}.png")
    if show:
        plt.show()
    plt.close(figure)


def perf_report(
    benchmarks: Benchmark | Sequence[Benchmark],
) -> Callable[[Callable[..., Any]], Mark]:
    """Decorate a function `f(<x names>, <line arg>, <args>)` that returns a time or a rate."""
    return lambda fn: Mark(fn, benchmarks)

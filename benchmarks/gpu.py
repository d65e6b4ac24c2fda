"""Compiled kernels on a GPU against Triton's and PyTorch's, side by side in one process.

    python benchmarks/gpu.py [--only NAME[,NAME]] [--quick] [--json FILE]

Every kernel of `kernels.py` is loaded twice, once by each compiler, run over the same inputs and
configurations, checked against PyTorch, and timed (CUDA events, L2 flushed, medians). Then the best
configuration of each side is timed again by turns, because a device that gets warm gets slower:
`ratio` is the median over the turns of our speed over Triton's.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import math
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import blockstep
import triton
from triton.testing import do_bench
from triton.tools.tensor_descriptor import TensorDescriptor

HERE = Path(__file__).parent
TURNS = 5
LOG2E = 1.4426950408889634
Row = dict[str, Any]


def load(name: str, language: Any) -> Any:
    """kernels.py with `triton` standing for one of the two packages."""
    import os

    os.environ["IMPL"] = language.__name__
    spec = importlib.util.spec_from_file_location(f"kernels_{name}", HERE / "kernels.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SIDES = {"triton": load("triton", triton), "blockstep": load("blockstep", blockstep)}


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative Frobenius error."""
    found, wanted = found.double(), wanted.double()
    return float((found - wanted).norm() / wanted.norm())


class Bench:
    """Collects rows."""

    def __init__(self, only: list[str], quick: bool) -> None:
        self.only, self.rows = only, list[Row]()
        self.times = (10, 40) if quick else (25, 100)

    def wanted(self, name: str) -> bool:
        return not self.only or name in self.only

    def row(
        self, name: str, case: str, unit: str, work: float, configurations: list[Any],
        run: Callable[[Any, Any], None], output: torch.Tensor, reference: Callable[[], Any],
        tolerance: float, library: Callable[[], Any] | None = None,
    ) -> None:  # fmt: skip
        """`work / milliseconds` is the speed in `unit`."""
        made: Row = {"kernel": name, "case": case, "unit": unit}
        wanted = reference()
        chosen: dict[str, Any] = {}
        for side, kernels in SIDES.items():
            best = math.inf
            for configuration in configurations:
                try:
                    ms = self._one(kernels, configuration, run, output, wanted, tolerance)
                except Exception as problem:  # noqa: BLE001 (whatever it is, it is told in the row)
                    text = f"{configuration}: {type(problem).__name__}: {str(problem)[:300]}"
                    made.setdefault("errors", []).append(f"{side} {text}")
                    if side == "blockstep" and "wrong" not in text:
                        traceback.print_exc(limit=-3)
                    continue
                if ms < best:
                    best = ms
                    chosen[side] = configuration
                    made[side] = round(work / ms, 1)
                    made[f"{side}_configuration"] = str(configuration)
        calls: dict[str, Callable[[], Any]] = {
            side: lambda k=SIDES[side], c=c: run(k, c) for side, c in chosen.items()
        }
        if library is not None:
            calls["library"] = library
        self._by_turns(made, work, calls)
        self.rows.append(made)
        print(json.dumps(made), flush=True)

    def _by_turns(self, made: Row, work: float, calls: dict[str, Callable[[], Any]]) -> None:
        """Times the calls one after the other, several times."""
        turns: dict[str, list[float]] = {name: [] for name in calls}
        names = list(calls)
        for turn in range(TURNS):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                turns[name].append(self.time(calls[name]))
        for name, times in turns.items():
            made[name] = round(work / statistics.median(times), 1)
        if {"triton", "blockstep"} <= set(turns):
            pairs = zip(turns["triton"], turns["blockstep"], strict=True)
            made["ratio"] = round(statistics.median(a / b for a, b in pairs), 3)

    def _one(
        self, kernels: Any, configuration: Any, run: Callable[[Any, Any], None],
        output: torch.Tensor, wanted: torch.Tensor, tolerance: float,
    ) -> float:  # fmt: skip
        _poison(output)
        run(kernels, configuration)
        torch.cuda.synchronize()
        found = error(output, wanted)
        if not found < tolerance:
            raise ValueError(f"wrong: relative error {found:.2e}")
        return self.time(lambda: run(kernels, configuration))

    def time(self, call: Callable[[], Any]) -> float:
        """Median milliseconds."""
        return float(do_bench(call, *self.times, return_mode="median"))


def _poison(output: torch.Tensor) -> None:
    if output.is_floating_point():
        output.fill_(float("nan"))
    else:
        output.zero_()


def cells(n: int, block: int) -> int:
    return -(-n // block)


def elementwise(bench: Bench) -> None:
    n = 2**29
    x, z = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    if bench.wanted("vector_add"):
        bench.row(
            "vector_add", "f32 2^29", "GB/s", 12 * n / 1e6, [(1024, 4), (2048, 8), (4096, 8)],
            lambda k, c: k.vector_add[(cells(n, c[0]),)](x, z, y, n, BLOCK=c[0], num_warps=c[1]),
            y, lambda: x + z, 1e-6, lambda: torch.add(x, z, out=y),
        )  # fmt: skip
    if bench.wanted("swiglu"):
        a, b = x.bfloat16(), z.bfloat16()
        c_ = torch.empty_like(a)
        bench.row(
            "swiglu", "bf16 2^29", "GB/s", 6 * n / 1e6, [(1024, 4), (2048, 4), (4096, 8)],
            lambda k, c: k.swiglu[(cells(n, c[0]),)](a, b, c_, n, BLOCK=c[0], num_warps=c[1]),
            c_, lambda: torch.nn.functional.silu(a.float()).mul_(b.float()), 1e-2,
        )  # fmt: skip
    if bench.wanted("dropout"):
        _dropout(bench)


def _dropout(bench: Bench) -> None:
    n = 2**28
    x = torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    SIDES["triton"].dropout[(cells(n, 1024),)](x, y, n, 0.5, 123, BLOCK=1024)
    kept = y.clone()
    bench.row(
        "dropout", "f32 2^28", "GB/s", 8 * n / 1e6, [(1024, 4), (2048, 4)],
        lambda k, c: k.dropout[(cells(n, c[0]),)](x, y, n, 0.5, 123, BLOCK=c[0], num_warps=c[1]),
        y, lambda: kept, 1e-6,
    )  # fmt: skip


def rows(bench: Bench) -> None:
    for count, columns in ((16384, 1024), (16384, 4096), (8192, 8192), (4096, 16384)):
        x = torch.randn(count, columns, device="cuda")
        y = torch.empty_like(x)
        block = 1 << (columns - 1).bit_length()
        case = f"{count}x{columns}"
        if bench.wanted("softmax"):
            bench.row(
                "softmax", f"f32 {case}", "GB/s", 8 * x.numel() / 1e6, [4, 8, 16],
                lambda k, w: k.softmax[(count,)](
                    y, x, columns, columns, columns, BLOCK=block, num_warps=w
                ),
                y, lambda: torch.softmax(x, -1), 1e-4, lambda: torch.softmax(x, -1),
            )  # fmt: skip
        if bench.wanted("layer_norm"):
            xb, yb = x.bfloat16(), y.bfloat16()
            w_, b_ = (torch.randn(columns, device="cuda").bfloat16() for _ in range(2))
            bench.row(
                "layer_norm", f"bf16 {case}", "GB/s", 4 * x.numel() / 1e6, [4, 8, 16],
                lambda k, w: k.layer_norm[(count,)](
                    xb, yb, w_, b_, columns, columns, 1e-5, BLOCK=block, num_warps=w
                ),
                yb,
                lambda: torch.nn.functional.layer_norm(
                    xb.float(), (columns,), w_.float(), b_.float()
                ),
                1e-2,
            )  # fmt: skip
    if bench.wanted("row_sum"):
        x = torch.randn(8192, 32768, device="cuda")
        o = torch.empty(8192, device="cuda")
        bench.row(
            "row_sum", "f32 8192x32768", "GB/s", 4 * x.numel() / 1e6,
            [(1024, 4), (2048, 8), (4096, 8)],
            lambda k, c: k.row_sum[(8192,)](x, o, 32768, BLOCK=c[0], num_warps=c[1]),
            o, lambda: x.sum(-1), 1e-4, lambda: x.sum(-1),
        )  # fmt: skip
    if bench.wanted("histogram"):
        n = 2**26
        xi = torch.randint(0, 256, (n,), device="cuda", dtype=torch.int32)
        h = torch.zeros(256, device="cuda", dtype=torch.int32)
        bench.row(
            "histogram", "i32 2^26 256 bins", "Gelem/s", n / 1e6, [1024],
            lambda k, c: k.histogram[(cells(n, c),)](xi, h, n, BINS=256, BLOCK=c),
            h, lambda: torch.bincount(xi, minlength=256), 1e-6,
        )  # fmt: skip


MATMULS = [
    (128, 256, 64, 8, 8, 3), (128, 128, 64, 8, 4, 4), (128, 128, 64, 8, 8, 3),
    (64, 256, 64, 8, 4, 4), (128, 64, 64, 8, 4, 4), (64, 64, 64, 8, 4, 4), (64, 128, 64, 8, 4, 4),
]  # fmt: skip


def matmul(bench: Bench) -> None:
    for kind, name, sizes in (
        (torch.float16, "f16", (1024, 2048, 4096, 8192)), (torch.bfloat16, "bf16", (4096, 8192)),
    ):  # fmt: skip
        for n in sizes:
            a, b = (torch.randn(n, n, device="cuda", dtype=kind) for _ in range(2))
            c_ = torch.empty_like(a)

            def run(k: Any, c: Any, a: Any = a, b: Any = b, c_: Any = c_, n: int = n) -> None:
                bm, bn, bk, group, warps, stages = c
                k.matmul[(cells(n, bm) * cells(n, bn),)](
                    a, b, c_, n, n, n, n, 1, n, 1, n, 1, BM=bm, BN=bn, BK=bk, GROUP=group,
                    num_warps=warps, num_stages=stages,
                )  # fmt: skip

            configurations = MATMULS if n < 4096 else MATMULS[:4]
            if bench.wanted("matmul"):
                bench.row(
                    "matmul", f"{name} {n}^3", "TFLOP/s", 2 * n**3 / 1e9, configurations, run,
                    c_, lambda: a @ b, 1e-2, lambda: torch.matmul(a, b, out=c_),
                )  # fmt: skip
            if bench.wanted("matmul_desc"):
                _described(bench, name, n, a, b, c_)


def _described(bench: Bench, name: str, n: int, a: Any, b: Any, c_: Any) -> None:
    bt = b.t().contiguous()

    def run(k: Any, c: Any) -> None:
        bm, bn, bk, group, warps, stages = c
        made = TensorDescriptor.from_tensor
        k.matmul_desc[(cells(n, bm) * cells(n, bn),)](
            made(a, [bm, bk]), made(bt, [bn, bk]), made(c_, [bm, bn]), n, n, n,
            BM=bm, BN=bn, BK=bk, GROUP=group, num_warps=warps, num_stages=stages,
        )  # fmt: skip

    bench.row(
        "matmul_desc", f"{name} {n}^3", "TFLOP/s", 2 * n**3 / 1e9, MATMULS[:3], run, c_,
        lambda: a @ b, 1e-2,
    )  # fmt: skip


def attention(bench: Bench) -> None:
    for d, s, h, causal in (
        (128, 4096, 64, False), (128, 4096, 64, True), (64, 4096, 64, False), (128, 16384, 16, True),
    ):  # fmt: skip
        q, k_, v = (torch.randn(1, h, s, d, device="cuda", dtype=torch.float16) for _ in range(3))
        o = torch.empty_like(q)
        scale = LOG2E / math.sqrt(d)

        def run(k: Any, c: Any, d: int = d, s: int = s, h: int = h, causal: bool = causal,
                q: Any = q, k_: Any = k_, v: Any = v, o: Any = o, scale: float = scale) -> None:  # fmt: skip
            bm, bn, warps, stages = c
            k.attention[(s // bm, h)](
                q, k_, v, o, scale, s, D=d, BM=bm, BN=bn, CAUSAL=causal, num_warps=warps,
                num_stages=stages,
            )  # fmt: skip

        attend = torch.nn.functional.scaled_dot_product_attention
        bench.row(
            "attention", f"f16 D{d} S{s} H{h} causal={causal}", "TFLOP/s",
            4 * h * s * s * d * (0.5 if causal else 1.0) / 1e9,
            [(128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)], run, o,
            lambda: attend(q, k_, v, is_causal=causal), 1e-2,
            lambda: attend(q, k_, v, is_causal=causal),
        )  # fmt: skip


def launches(bench: Bench) -> None:
    """Host microseconds of one launch."""
    x = torch.randn(1024, device="cuda")
    y = torch.empty_like(x)
    made: Row = {"kernel": "launch", "case": "host time", "unit": "us"}
    calls: dict[str, Callable[[], Any]] = {
        side: lambda k=k: k.vector_add[(1,)](x, x, y, 1024, BLOCK=1024) for side, k in SIDES.items()
    }
    calls["torch_add"] = lambda: torch.add(x, x, out=y)
    for name, call in calls.items():
        call()
        torch.cuda.synchronize()
        times = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(1000):
                call()
            times.append((time.perf_counter() - start) * 1e3)
            torch.cuda.synchronize()
        made[name] = round(sorted(times)[3], 2)
    bench.rows.append(made)
    print(json.dumps(made), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    chosen = parser.parse_args()
    torch.manual_seed(int(time.time()))
    bench = Bench([n for n in chosen.only.split(",") if n], chosen.quick)
    parts = {
        elementwise: ("vector_add", "swiglu", "dropout"),
        rows: ("softmax", "layer_norm", "row_sum", "histogram"),
        matmul: ("matmul", "matmul_desc"),
        attention: ("attention",),
        launches: ("launch",),
    }
    for part, names in parts.items():
        if any(map(bench.wanted, names)):
            part(bench)
    if chosen.json:
        told = {
            "date": datetime.date.today().isoformat(),
            "device": torch.cuda.get_device_name(),
            "triton": triton.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "rows": bench.rows,
        }
        Path(chosen.json).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
